// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// The page of a real Firefox, headless, with the extension of this project, on one of two simulated machines.
    @Suite(.enabled(if: Firefox.isInstalled, "firefox-esr is not installed"))
    struct FirefoxBrowsers {
        @Test
        func `Firefox offers its page also while a private window is in front, and opens pages of another machine`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let daemons = try await [a.startHost(), b.startHost()]
                let pages = try await Pages(on: a)
                let firefox = try await Firefox(on: a)

                let one = pages.url("one", user: "me:secret@")
                _ = try await firefox.marionette("open", one)
                let offer = try await b.offer("one")
                #expect(offer.contains("org.remotesystems.browsing-web"))
                #expect(offer.contains("org.remotesystems.web-browser.firefox"))

                // The private page is not offered, and the one before is still there.
                _ = try await firefox.marionette("open-privately", pages.url("hidden"))
                try await pages.wasRead("hidden")
                _ = try await firefox.marionette("title", one, "Page three")
                _ = try await b.offer("three")
                #expect(try await !b.commandLines(["activities", "list"]).joined().contains("hidden"))
                _ = try await firefox.marionette("close", pages.url("hidden"))

                // From the list in the browser.
                let two = try b.offering("two", pages)
                _ = try await firefox.marionette("choose", "Page two")
                try await firefox.shows(pages.url("two"))
                #expect(try await two.exit(within: .seconds(60)) == 0, "\(two.lines)")
                #expect(two.lines.joined().contains("org.remotesystems.web-browser.firefox"), "\(two.lines)")

                // By the command on its machine. The page is then offered from there, until the browser ends.
                let four = try b.offering("four", pages)
                let continued = try a.command(["activities", "continue", "org.remotesystems.browsing-web"])
                #expect(try await continued.exit(within: .seconds(60)) == 0, "\(continued.lines)")
                try await firefox.shows(pages.url("four"))
                #expect(try await four.exit(within: .seconds(60)) == 0, "\(four.lines)")
                _ = try await b.offer("four")
                await firefox.process.stop()
                try await b.isNotOffered("four")
                for process in [pages.process] + daemons { await process.stop() }
            }
        }
    }
}

/// A headless Firefox with the extension.
private struct Firefox {
    static let isInstalled =
        SimulatedNetwork.isInstalled("firefox-esr") || ProcessInfo.processInfo.environment["CI"] != nil

    let machine: Machine
    let process: ChildProcess

    /// Installs the files for the browser as a user does, starts it, and adds the extension for as long as it runs.
    init(on machine: Machine) async throws {
        self.machine = machine
        let home = try await BrowserHome(
            for: "firefox",
            on: machine,
            profile: "profile",
            hosts: ".mozilla/native-messaging-hosts"
        )
        self.process = try machine.host.start(
            home.environment
                + [
                    "firefox-esr", "--headless", "--no-remote", "--marionette", "--remote-allow-system-access",
                    "--profile", "\(home.path)/profile", "about:blank",
                ],
            readsErrors: true
        )
        let process = self.process
        _ = try await eventually("the browser", within: .seconds(60), every: .milliseconds(50)) {
            process.lines.contains { $0.contains("Listening on port") } ? true : nil
        }
        _ = try await self.marionette("install", BrowserHome.extensionDirectory)
    }

    func marionette(_ arguments: String...) async throws -> String {
        try await self.machine.host.output(of: Python.script("marionette.py", arguments), within: .seconds(60))
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func shows(_ url: String) async throws {
        _ = try await eventually("the page \(url)", within: .seconds(60), every: .milliseconds(200)) {
            try await self.marionette("pages").split(separator: "\n").contains(Substring(url)) ? true : nil
        }
    }
}

extension Machine {
    /// Offers a page with the command, which ends when another system has continued it.
    fileprivate func offering(_ name: String, _ pages: Pages) throws -> ChildProcess {
        try self.command([
            "activities", "offer", "org.remotesystems.browsing-web", "--web", pages.url(name), "--title",
            "Page \(name)",
        ])
    }
}
