# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Controls the Firefox of this machine through Marionette, on its default port.

Usage: marionette.py install DIRECTORY      adds an extension until the browser ends
       marionette.py pages                  prints the addresses of the tabs, one a line
       marionette.py open URL               opens a tab in front
       marionette.py open-privately URL     opens a private window in front
       marionette.py title URL TEXT         sets the title of a page, and leaves its window where it is
       marionette.py close URL              closes the tab of a page
       marionette.py choose TITLE           chooses an offer in the popup of the extension, which is opened in a tab
"""

import json
import socket
import sys
import time

EXTENSION = "browser@remotesystems.org"


class Session:
    """Messages of Marionette's protocol 3: the length in decimal digits, a colon, and JSON."""

    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", 2828), timeout=50)
        self.stream = self.socket.makefile("rb")
        self.number = 0
        self.receive()
        self.call("WebDriver:NewSession")

    def receive(self):
        digits = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                sys.exit("the browser has ended")
            digits += byte
        return json.loads(self.stream.read(int(digits)))

    def call(self, command, **parameters):
        self.number += 1
        text = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        while True:
            _, number, error, result = self.receive()
            if number == self.number:
                if error:
                    sys.exit(f"{command}: {error['message']}")
                return result

    def evaluate(self, script, *arguments):
        return self.call("WebDriver:ExecuteScript", script=script, args=arguments)["value"]

    def evaluate_in_browser(self, script):
        """Runs a script with the rights of the browser."""
        self.call("Marionette:SetContext", value="chrome")
        value = self.evaluate(script)
        self.call("Marionette:SetContext", value="content")
        return value

    def open(self, url, kind, private=False):
        handle = self.call("WebDriver:NewWindow", type=kind, focus=True, private=private)["handle"]
        self.call("WebDriver:SwitchToWindow", handle=handle)
        self.call("WebDriver:Navigate", url=url)

    def use(self, url):
        """Makes the tab of a page the one that the next calls are about. Its window stays where it is."""
        for handle in self.call("WebDriver:GetWindowHandles"):
            self.call("WebDriver:SwitchToWindow", handle=handle, focus=False)
            if self.call("WebDriver:GetCurrentURL")["value"] == url:
                return
        sys.exit(f"no tab shows {url}")


session = Session()
match sys.argv[1:]:
    case ["install", directory]:
        session.call("Addon:Install", path=directory, temporary=True)
    case ["pages"]:
        windows = "[...Services.wm.getEnumerator('navigator:browser')]"
        tabs = f"{windows}.flatMap((window) => window.gBrowser.tabs)"
        for url in session.evaluate_in_browser(f"return {tabs}.map((tab) => tab.linkedBrowser.currentURI.spec)"):
            print(url)
    case ["open", url]:
        session.open(url, "tab")
    case ["open-privately", url]:
        session.open(url, "window", private=True)
    case ["title", url, text]:
        session.use(url)
        session.evaluate("document.title = arguments[0]", text)
    case ["close", url]:
        session.use(url)
        session.call("WebDriver:CloseWindow")
    case ["choose", title]:
        host = session.evaluate_in_browser(f"return WebExtensionPolicy.getByID('{EXTENSION}').mozExtensionHostname")
        session.open(f"moz-extension://{host}/popup.html", "tab")
        choose = """
            const button = [...document.querySelectorAll("button")].find((b) => b.textContent.includes(arguments[0]));
            button?.click();
            return button !== undefined;
            """
        while not session.evaluate(choose, title):
            time.sleep(0.2)
    case _:
        sys.exit(__doc__)
session.call("WebDriver:DeleteSession")
