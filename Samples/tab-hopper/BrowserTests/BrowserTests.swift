// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Browser
import Foundation
import RemoteSystemsTesting
import Testing
import UserActivities

/// Also H-99 and B-18: this drives the browser of the terminal program. No part of it depends on a toolkit.
@Suite struct BrowserTests {
    @Test func `a page goes to the same tab of the other machine, and both panes restore it (H-96, B-12)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let (here, there) = (Browser { _ in }, Browser { _ in })
            let machines = try [("Kitchen", here), ("Attic", there)].map { name, browser in
                var application = StagedApplication("org.example.tab-hopper")
                application.activities = .init(types: TabStrip.activityTypes, handler: browser)
                return try stage.system(name, applications: [application])
            }
            for (machine, browser) in zip(machines, [here, there]) {
                try await stage.appears(machine)
                await browser.use(try await machine.activityHost())
            }
            let watcher = UserActivityWatcher(stage.configuration)
            try await watcher.start()

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
            await watcher.stop()
        }
    }
}
