// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Browser
import Foundation
import RemoteSystemsTesting
import Testing
import UserActivities

/// Also H-99 and B-18: this drives the browser of the terminal program. No part of it depends on a toolkit.
@Suite struct BrowserTests {
    /// Runs a body with a browser on each of two machines.
    private func withBrowsers(
        _ body:
            @escaping @Sendable (
                DiscoveryStage, UserActivityWatcher, _ machines: [StagedSystem], _ browsers: [Browser]
            ) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let browsers = [Browser { _ in }, Browser { _ in }]
            let machines = try zip(["Kitchen", "Attic"], browsers).map { name, browser in
                var application = StagedApplication("org.example.tab-hopper")
                application.activities = .init(types: TabStrip.activityTypes, handler: browser)
                return try stage.system(name, applications: [application])
            }
            for (machine, browser) in zip(machines, browsers) {
                try await stage.appears(machine)
                await browser.use(try await machine.activityHost())
            }
            let watcher = UserActivityWatcher(stage.configuration)
            try await watcher.start()
            try await body(stage, watcher, machines, browsers)
            await watcher.stop()
        }
    }

    @Test func `a page goes to the same tab of the other machine, and both panes restore it (H-96, B-12)`()
        async throws
    {
        try await self.withBrowsers { stage, watcher, machines, browsers in
            let (here, there) = (browsers[0], browsers[1])
            let address = try #require(URL(string: "https://example.org/menu"))
            try await here.open(address, in: 2)
            await here.scroll(by: 20)
            try await stage.eventually("the offer is listed") { !watcher.offers.isEmpty }
            let offer = try #require(watcher.offers.first)
            #expect(offer.title == "coffee: https://example.org/menu" && offer.system.displayName == "Kitchen")
            try await machines[1].activityHost().continue(offer)

            #expect(await there.tabs.front == 2)
            #expect(await there.page.address == address)
            #expect(await there.page.line == 20)

            // And back again.
            await there.scroll(by: 5)
            try await stage.eventually("it is offered in turn") { watcher.offers.first?.system.displayName == "Attic" }
            try await machines[0].activityHost().continue(try #require(watcher.offers.first))
            #expect(await here.page.line == 25)
        }
    }

    @Test func `each of the four tabs has a type of its own, and comes to the front on the other machine (H-96)`()
        async throws
    {
        try await self.withBrowsers { stage, watcher, machines, browsers in
            let address = try #require(URL(string: "https://example.org/menu"))
            var types: Set<String> = []
            // Backwards, since the first tab is in front from the beginning.
            for tab in TabStrip.names.indices.reversed() {
                let title = "\(TabStrip.names[tab]): \(address)"
                try await browsers[0].open(address, in: tab)
                // The other machine offers the page that it has continued before.
                try await stage.eventually("\(title) is listed") {
                    watcher.offers.contains { $0.title == title && $0.system.displayName == "Kitchen" }
                }
                let offer = try #require(watcher.offers.first { $0.title == title })
                types.insert(offer.activityType)
                try await machines[1].activityHost().continue(offer)
                #expect(await browsers[1].tabs.front == tab)
            }
            #expect(types.count == 4)
        }
    }
}
