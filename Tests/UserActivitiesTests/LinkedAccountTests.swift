// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTesting
@testable import UserActivities

/// Systems of linked accounts learn of activities, and continue them, only as far as that is granted.
@Suite(.timeLimit(.minutes(2))) struct LinkedAccountTests {
    private static let publisher = PublisherKey().chain.id
    private static let application = "com.example.editor"

    @Test func `the page of accounts names the topic and the service that a link has to grant`() throws {
        let root = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "Docs/accounts.md"), encoding: .utf8)
        let name = ActivityDescriptor.topic
        #expect(page.contains("| `--topic \(name)` |"))
        #expect(page.contains("| `--topic \(name) --service \(name)` |"))
    }

    /// An activity that is current on a system of a linked account, and a system of this account.
    private struct Desk: Sendable {
        let stage: DiscoveryStage
        let activity: UserActivity
        let desktop: StagedSystem
        /// Lists the systems of the linked account and their offers.
        let watcher: UserActivityWatcher
        /// What the application on the desktop was asked to continue.
        let log: ContinuationTests.Log

        /// Continues the activity on the desktop, as a program does that knows its id.
        func `continue`(isWebpageOnly: Bool = false) async throws {
            let system = try #require(self.watcher.systems.first)
            let descriptor = ActivityDescriptor(
                self.activity,
                expirationDate: .distantFuture,
                lifetime: .seconds(60)
            )
            let offer = UserActivityOffer(descriptor, application: LinkedAccountTests.application, on: system)
            let host = try await self.desktop.activityHost()
            if isWebpageOnly {
                try await host.continueWebpage(of: offer)
            } else {
                try await host.continue(offer)
            }
        }
    }

    /// Runs a body while the linked account's system offers an activity.
    ///
    /// - Parameters:
    ///   - rights: what the linked account grants to this one.
    ///   - isSigned: whether the applications are proven to be of one publisher.
    private func with(
        _ rights: Grants,
        isSigned: Bool = true,
        _ body: @escaping @Sendable (Desk) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            stage.link(granting: Grants(), receiving: rights)
            let log = ContinuationTests.Log()
            func editor(on account: StagedAccount, _ number: Int) -> StagedApplication {
                var editor = StagedApplication(Self.application)
                editor.activities = .init(types: [ContinuationTests.editing], handler: log)
                if isSigned { editor.activities?.options.voucher = Self.voucher(by: account, number) }
                return editor
            }
            // The stage numbers its systems from 1, in the order of their creation.
            let laptop = try stage.system("Laptop", account: .linked, applications: [editor(on: .linked, 1)])
            let desktop = try stage.system("Desktop", applications: [editor(on: .own, 2)])
            for system in [laptop, desktop] { try await stage.appears(system) }
            let activity = UserActivity(type: ContinuationTests.editing, title: "A letter")
            activity.userInfo = ["left": "secret"]
            activity.webpageURL = URL(string: "https://example.com/letters/17")
            try await activity.becomeCurrent(at: laptop.activityHost())
            let watcher = UserActivityWatcher(stage.configuration, filters: [.authorizationKind(.linked)])
            try await watcher.start()
            try await stage.eventually("the laptop is listed") { watcher.systems.map(\.id) == [laptop.id] }
            try await body(Desk(stage: stage, activity: activity, desktop: desktop, watcher: watcher, log: log))
            await watcher.stop()
        }
    }

    /// What the host daemon of a staged system states about the application.
    static func voucher(
        by account: StagedAccount,
        _ number: Int
    ) -> @Sendable (SystemID, UUID) async -> OwnVoucher? {
        { audience, activity in
            let subject = ApplicationVoucher.Subject(
                application: Self.application,
                audience: audience,
                activity: activity
            )
            let publisher = ApplicationPublisher.proven(Self.publisher)
            guard let identity = try? account.system(number),
                let voucher = try? ApplicationVoucher(publisher, for: subject, by: identity)
            else { return nil }
            return OwnVoucher(bytes: voucher.bytes, publisher: publisher, hasSignedManifests: true)
        }
    }

    private static let topic: Set<String> = [ActivityDescriptor.topic]

    @Test func `a linked account without a right learns of no activity, and gets none (H-02)`() async throws {
        try await self.with(Grants(services: ["test.other"])) { desk in
            // The description has arrived. It lists no topic, so no offer will follow.
            #expect(desk.watcher.offers.isEmpty)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue() }
            #expect(error?.code == .notAuthorized)
            #expect(desk.activity.isCurrent && desk.log.activity == nil)
        }
    }

    @Test func `the right to see activities is not the right to continue them`() async throws {
        try await self.with(Grants(topics: Self.topic)) { desk in
            try await desk.stage.eventually("the offer is listed") {
                desk.watcher.offers.map(\.id) == [desk.activity.id]
            }
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue() }
            #expect(error?.code == .notAuthorized)
            #expect(desk.activity.isCurrent && desk.log.activity == nil)
        }
    }

    @Test func `with both rights a linked account continues an activity of the same publisher (H-05)`() async throws {
        try await self.with(Grants(services: Self.topic, topics: Self.topic)) { desk in
            try await desk.stage.eventually("the offer is listed") {
                desk.watcher.offers.map(\.id) == [desk.activity.id]
            }
            #expect(desk.watcher.offers.first?.system.authorizationKind == .linked)
            try await desk.continue()
            #expect(!desk.activity.isCurrent)
            #expect(desk.log.activity?.userInfo == ["left": "secret"])
        }
    }

    @Test func `activities of a linked account are listed beside those of this one, with its name (H-02)`() async throws
    {
        try await self.with(Grants(services: Self.topic, topics: Self.topic)) { desk in
            let minutes = UserActivity(type: ContinuationTests.editing, title: "Minutes")
            try await minutes.becomeCurrent(at: desk.desktop.activityHost())
            let watcher = UserActivityWatcher(desk.stage.configuration, filters: .withLinkedAccounts)
            try await watcher.start()
            try await desk.stage.eventually("both are listed") {
                Set(watcher.offers.map(\.id)) == [desk.activity.id, minutes.id]
            }
            let systems = watcher.offers.map(\.system)
            let names = systems.map { $0.idAndName() }
            #expect(systems.count == 2 && names.first == "\(systems[0].id.short) “Desktop”")
            let laptop = "\(systems[1].id.short) “Laptop” of “Linked account”"
            #expect(names.last == laptop)
            let found = await watcher.findings().first { $0.condition == .found }
            #expect(found?.message.hasSuffix("Found of linked accounts: \(laptop).") == true)
            await watcher.stop()
        }
    }

    @Test func `developer mode does not extend to a linked account, whatever its rights (H-06)`() async throws {
        try await self.with(Grants(services: Self.topic, topics: Self.topic), isSigned: false) { desk in
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue() }
            #expect(error?.code == .publisherMismatch)
            #expect(desk.activity.isCurrent && desk.log.activity == nil)
        }
    }

    /// Browsers have no publisher. Within one account they need none (`PublisherComparisonTests`).
    @Test func `a browser of a linked account gets no address, and ends no offer (H-05)`() async throws {
        try await self.with(Grants(services: Self.topic, topics: Self.topic), isSigned: false) { desk in
            try await desk.stage.eventually("the offer is listed") {
                desk.watcher.offers.map(\.id) == [desk.activity.id]
            }
            let offer = try #require(desk.watcher.offers.first)
            #expect(!offer.hasWebpage && desk.watcher.choice(for: offer) == .none)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(isWebpageOnly: true) }
            // The origin refuses. This system would refuse the content, too.
            #expect(error?.code == .publisherMismatch && error?.side == .remote)
            #expect(desk.activity.isCurrent && desk.log.activity == nil)
        }
    }
}
