// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// The page of a real browser, headless, with the extension of this project, on two simulated machines.
    @Suite(.enabled(if: Browser.isInstalled, "chromium is not installed"))
    struct Browsers {
        @Test func `a page goes to the browser of another machine, and another one back; private windows stay private`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let daemons = try await [a.startHost(), b.startHost()]
                let pages = try await Pages(on: a)
                let first = try await Browser(on: a, showing: "about:blank")
                let second = try await Browser(on: b, showing: "about:blank")
                try await first.isConnected()
                try await second.isConnected()

                let tab = try await first.open(pages.url("one", user: "me:secret@"))
                let offer = try await b.offer("one")
                #expect(offer.contains("org.remotesystems.browsing-web"))
                #expect(offer.contains("org.remotesystems.web-browser.chromium"))
                // The user reads something else, in private. That is not offered, and the page before is still there.
                _ = try await first.devtools("open-privately", pages.url("hidden"))
                try await pages.wasRead("hidden")

                let continued = try b.command(["activities", "continue", "org.remotesystems.browsing-web"])
                #expect(try await continued.exit(within: .seconds(60)) == 0, "\(continued.lines)")
                #expect(continued.lines.joined().contains("org.remotesystems.web-browser.chromium"))
                try await second.shows(pages.url("one"))
                #expect(try await !second.devtools("pages").contains("hidden"))
                // The user sees where the page has gone, and that it has come back.
                try await first.says("^“Page one” is continued on .+[.]$", isHandedOver: true)
                let returned = "{ type: 'returned', system: 'beta', title: 'Page one' }"
                _ = try await first.devtools("evaluate", "received(\(returned))")
                try await first.says(
                    "^beta could not continue “Page one”. It is offered again[.]$",
                    isHandedOver: false
                )

                // The other way, from the list in the browser. The page that was continued is offered from there.
                _ = try await second.open(pages.url("two"))
                let id = try await first.offered("two")
                _ = try await first.devtools("evaluate", "port.postMessage({ type: 'continue', id: \(id) })")
                try await first.shows(pages.url("two"))

                // Its own page is offered until the tab is closed, and the user sees one that is not of the web.
                _ = try await first.open(pages.url("three"))
                _ = try await b.offer("three")
                _ = try await first.open("about:blank")
                try await b.isNotOffered("three")
                _ = try await first.devtools("close", tab)
                _ = try await first.open(pages.url("four"))
                _ = try await b.offer("four")
                await first.process.stop()
                try await b.isNotOffered("four")
                let titles = try await b.commandLines(["activities", "list"]).joined()
                #expect(!titles.contains("hidden"))
                for process in [second.process, pages.process] + daemons { await process.stop() }
            }
        }
    }
}

/// A headless Chromium with the extension.
private struct Browser {
    static let isInstalled =
        SimulatedNetwork.isInstalled("chromium") || ProcessInfo.processInfo.environment["CI"] != nil

    let machine: Machine
    let process: ChildProcess
    private let profile: String

    /// Installs the files for the browser as a user does, and starts it.
    init(on machine: Machine, showing page: String) async throws {
        self.machine = machine
        let profile = ".config/chromium"
        let home = try await BrowserHome(
            for: "chromium",
            on: machine,
            profile: profile,
            hosts: "\(profile)/NativeMessagingHosts"
        )
        self.profile = "\(home.path)/\(profile)"
        let extensions = BrowserHome.extensionDirectory
        self.process = try machine.host.start(
            home.environment
                + [
                    "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                    "--no-first-run", "--remote-debugging-port=0", "--user-data-dir=\(self.profile)",
                    "--disable-background-networking", "--disable-component-update",
                    "--disable-extensions-except=\(extensions)", "--load-extension=\(extensions)", page,
                ],
            readsErrors: true
        )
        let port = "\(self.profile)/DevToolsActivePort"
        _ = try await eventually("the browser", within: .seconds(60), every: .milliseconds(50)) {
            FileManager.default.fileExists(atPath: port) ? true : nil
        }
    }

    func devtools(_ arguments: String...) async throws -> String {
        try await self.machine.host.output(
            of: Python.script("devtools.py", [self.profile] + arguments),
            within: .seconds(60)
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func open(_ url: String) async throws -> String { try await self.devtools("open", url) }

    /// Waits until the extension is connected to its program.
    func isConnected() async throws {
        var last = ""
        do {
            _ = try await eventually("the extension", within: .seconds(60), every: .milliseconds(200)) {
                last = try await self.devtools("evaluate", "JSON.stringify(state)")
                return last.contains(#"\"isConnected\":true"#) ? true : nil
            }
        } catch { throw IntegrationError("\(error): \(last); \(self.process.lines.suffix(20))") }
    }

    /// Waits until the extension shows a sentence about its page, which a regular expression describes.
    func says(_ sentence: String, isHandedOver: Bool) async throws {
        _ = try await eventually("the sentence \(sentence)", within: .seconds(60), every: .milliseconds(200)) {
            let test = "state.isHandedOver === \(isHandedOver) && /\(sentence)/.test(state.page)"
            return try await self.devtools("evaluate", test) == "true" ? true : nil
        }
    }

    /// Waits until the extension lists an offer, and returns its id as JSON.
    func offered(_ title: String) async throws -> String {
        try await eventually("the offer \(title)", within: .seconds(60), every: .milliseconds(200)) {
            let id = try await self.devtools(
                "evaluate",
                "state.offers.find((offer) => offer.title === 'Page \(title)')?.id"
            )
            return id.hasPrefix("\"") ? id : nil
        }
    }

    func shows(_ url: String) async throws {
        _ = try await eventually("the page \(url)", within: .seconds(60), every: .milliseconds(200)) {
            try await self.devtools("pages").split(separator: "\n").contains(Substring(url)) ? true : nil
        }
    }
}
