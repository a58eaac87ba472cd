# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Controls a browser of this machine through the Chrome DevTools Protocol.

Usage: devtools.py DIRECTORY pages                  prints the addresses of the tabs, one a line
       devtools.py DIRECTORY open URL               opens a tab, and prints its id
       devtools.py DIRECTORY close ID
       devtools.py DIRECTORY open-privately URL     opens a tab in a private context, and prints its id
       devtools.py DIRECTORY evaluate EXPRESSION    evaluates an expression in the extension's service worker

DIRECTORY is the profile of the browser, which names its port.
"""

import base64
import json
import os
import socket
import struct
import sys
import urllib.request


def port_and_path():
    with open(os.path.join(sys.argv[1], "DevToolsActivePort"), encoding="ascii") as file:
        port, path = file.read().split("\n")[:2]
    return int(port), path


def get(path, method="GET"):
    request = urllib.request.Request(f"http://127.0.0.1:{port_and_path()[0]}{path}", method=method)
    with urllib.request.urlopen(request, timeout=20) as response:
        text = response.read().decode()
    return json.loads(text) if text.startswith(("{", "[")) else text


class Connection:
    """A WebSocket (RFC 6455) with as much of the protocol as DevTools needs."""

    def __init__(self):
        port, path = port_and_path()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.stream = self.socket.makefile("rb")
        assert b" 101 " in self.stream.readline()
        while self.stream.readline().strip():
            pass
        self.number = 0

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        body = json.dumps(message).encode()
        mask = os.urandom(4)
        length = bytes([0x80 | len(body)]) if len(body) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(body))
        self.socket.sendall(b"\x81" + length + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(body)))
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        text = b""
        while True:
            first, length = self.stream.read(2)
            if length == 126:
                (length,) = struct.unpack(">H", self.stream.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.stream.read(8))
            text += self.stream.read(length)
            if first & 0x80:
                return json.loads(text)


match sys.argv[2:]:
    case ["pages"]:
        for target in get("/json/list"):
            if target["type"] == "page":
                print(target["url"])
    case ["open", url]:
        print(get(f"/json/new?{url}", "PUT")["id"])
    case ["close", target]:
        get(f"/json/close/{target}")
    case ["open-privately", url]:
        connection = Connection()
        context = connection.call("Target.createBrowserContext")["browserContextId"]
        print(connection.call("Target.createTarget", url=url, browserContextId=context)["targetId"])
    case ["evaluate", expression]:
        connection = Connection()
        workers = [
            target
            for target in connection.call("Target.getTargets")["targetInfos"]
            if target["type"] == "service_worker" and target["url"].startswith("chrome-extension://")
        ]
        if not workers:
            sys.exit("the extension does not run")
        session = connection.call("Target.attachToTarget", targetId=workers[0]["targetId"], flatten=True)["sessionId"]
        result = connection.call("Runtime.evaluate", session, expression=expression, returnByValue=True)
        print(json.dumps(result["result"].get("value")))
    case _:
        sys.exit(__doc__)
