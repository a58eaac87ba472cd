// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsIdentity
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// Activities that go from one staged system to another.
@Suite(.timeLimit(.minutes(2))) struct ContinuationTests {
    static let editing = "com.example.editing"

    /// A staged network with a laptop that offers activities and a desktop that continues them.
    struct Desk {
        let stage: DiscoveryStage
        let laptop: StagedSystem
        let desktop: StagedSystem
        /// Lists offers as the desktop sees them.
        let watcher: UserActivityWatcher
        /// The configuration of the desktop's application.
        let configuration: RemoteSystemsConfiguration

        /// Runs a body with both systems present.
        ///
        /// - Parameter handler: continues activities on the desktop.
        static func with(
            _ handler: some ContinuationHandler,
            options: UserActivityHost.Options = UserActivityHost.Options(),
            _ body: @escaping @Sendable (Desk) async throws -> Void
        ) async throws {
            try await DiscoveryStage.with { stage in
                var editor = StagedApplication("com.example.editor")
                editor.activities = .init(types: [ContinuationTests.editing], handler: handler)
                editor.activities?.options = options
                let laptop = try stage.system("Laptop", applications: [editor])
                let present = Mutex<RemoteSystemsConfiguration?>(nil)
                editor.features = { configuration in
                    present.withLock { $0 = configuration }
                    return []
                }
                let desktop = try stage.system("Desktop", applications: [editor])
                try await stage.appears(laptop)
                try await stage.appears(desktop)
                let desk = Desk(
                    stage: stage,
                    laptop: laptop,
                    desktop: desktop,
                    watcher: UserActivityWatcher(stage.configuration),
                    configuration: try #require(present.withLock { $0 })
                )
                try await desk.watcher.start()
                try await body(desk)
                await desk.watcher.stop()
            }
        }

        /// Makes an activity the laptop's current one, and returns its offer.
        func offer(_ activity: UserActivity) async throws -> UserActivityOffer {
            try await activity.becomeCurrent(at: self.laptop.activityHost())
            try await self.stage.eventually("the offer is listed") {
                self.watcher.offers.contains { $0.id == activity.id }
            }
            return try #require(self.watcher.offers.first { $0.id == activity.id })
        }

        /// Continues an offer on the desktop.
        func `continue`(_ offer: UserActivityOffer) async throws {
            try await self.desktop.activityHost().continue(offer)
        }
    }

    /// What happened to an application that continues activities.
    final class Log: ContinuationHandler {
        struct Content: Sendable {
            var events: [String] = []
            var activity: UserActivity?
        }

        private let content = Mutex(Content())
        private let willContinue: Bool
        private let isContinued: Bool

        init(willContinue: Bool = true, isContinued: Bool = true) {
            self.willContinue = willContinue
            self.isContinued = isContinued
        }

        var events: [String] { self.content.withLock { $0.events } }
        var activity: UserActivity? { self.content.withLock { $0.activity } }
        private func note(_ event: String) { self.content.withLock { $0.events.append(event) } }

        func willContinueUserActivity(type: String) async -> Bool {
            self.note("will continue \(type)")
            return self.willContinue
        }

        func didProgress(_ progress: ContinuationProgress) { self.note("\(progress.step)") }

        func didUpdateUserActivity(_ activity: UserActivity) async { self.note("did update") }

        func continueUserActivity(
            _ activity: UserActivity,
            restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
        ) async throws -> Bool {
            self.content.withLock { $0.activity = activity }
            await restore([Pane(name: "left", log: self), Pane(name: "right", log: self)])
            await restore([])
            self.note("continued")
            return self.isContinued
        }

        func didFailToContinueUserActivity(type: String, error: ContinuationError) async {
            self.note("failed \(type) \(error.code)")
        }

        struct Pane: ActivityRestoring {
            let name: String
            let log: Log

            func restoreUserActivityState(_ activity: UserActivity) async {
                await Task.yield()
                let value = activity.userInfo[self.name]
                self.log.note("\(self.name) restores \(value?.string ?? value?.int.map { "\($0)" } ?? "nothing")")
            }
        }
    }

    /// The delegate of an activity that is offered.
    final class Origin: UserActivityDelegate {
        struct Content: Sendable {
            var saves = 0
            var needsSaveDuringSave: Bool?
            var receiver: UserActivityReceiver?
        }

        let content = Mutex(Content())

        func userActivityWillSave(_ activity: UserActivity) async {
            self.content.withLock { content in
                content.saves += 1
                content.needsSaveDuringSave = activity.needsSave
            }
            activity.title = activity.title.map { "\($0), saved" }
            activity.webpageURL = URL(string: "https://example.com/saved")
            activity.addUserInfoEntries(["right": "saved"])
        }

        func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            self.content.withLock { $0.receiver = receiver }
        }
    }

    /// Also H-22, H-32 and H-94: the delegate saves once, when the content is requested. H-33: it may change the
    /// content, the title and the address. H-56: progress is reported between will-continue and continue. H-54, H-58,
    /// B-10: one handler, whose restoration takes lists, also empty ones. X-12: did-update comes before anything is
    /// restored.
    @Test
    func `an activity is offered, accepted, sent, confirmed and restored in order (H-09, H-57, B-11, B-12)`()
        async throws
    {
        let log = Log()
        try await Desk.with(log) { desk in
            let origin = Origin()
            let activity = UserActivity(type: Self.editing, title: "Minutes")
            activity.delegate = origin
            activity.userInfo = ["left": 318]
            activity.needsSave = true
            let offer = try await desk.offer(activity)
            #expect(offer.title == "Minutes")
            #expect(offer.activityType == Self.editing)
            #expect(offer.system.displayName == "Laptop")
            #expect(offer.applicationID == "com.example.editor")
            #expect(origin.content.withLock { $0.saves } == 0)

            try await desk.continue(offer)

            #expect(
                log.events == [
                    "will continue com.example.editing", "connecting", "requesting", "received", "did update",
                    "left restores 318", "right restores saved", "continued",
                ]
            )
            // The delegate may change more than the content.
            #expect(log.activity?.title == "Minutes, saved")
            #expect(log.activity?.webpageURL?.absoluteString == "https://example.com/saved")
            #expect(origin.content.withLock { $0.saves } == 1)
            #expect(origin.content.withLock { $0.needsSaveDuringSave } == false)
            #expect(!activity.needsSave)
            try await desk.stage.eventually("the origin learns it") { origin.content.withLock { $0.receiver } != nil }
            #expect(origin.content.withLock { $0.receiver?.systemID } == desk.desktop.id)
            #expect(!activity.isCurrent)
            try await desk.stage.eventually("the offer is withdrawn") { desk.watcher.offers.isEmpty }
        }
    }

    @Test func `an application that declines receives nothing, and the offer stays (H-55, B-08)`() async throws {
        let log = Log(willContinue: false)
        try await Desk.with(log) { desk in
            let origin = Origin()
            let activity = UserActivity(type: Self.editing)
            activity.delegate = origin
            activity.needsSave = true
            let offer = try await desk.offer(activity)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .declined)
            #expect(log.events == ["will continue com.example.editing"])
            #expect(origin.content.withLock { $0.saves } == 0)
            #expect(activity.isCurrent)
            #expect(desk.watcher.offers.map(\.id) == [activity.id])
        }
    }

    @Test func `only the newest current activity of an application is offered (H-19)`() async throws {
        try await Desk.with(Log()) { desk in
            let (one, two) = (UserActivity(type: Self.editing), UserActivity(type: "com.example.browsing"))
            _ = try await desk.offer(one)
            _ = try await desk.offer(two)
            try await desk.stage.eventually("the former is gone") { desk.watcher.offers.map(\.id) == [two.id] }
            #expect(!one.isCurrent)
            two.resignCurrent()
            try await desk.stage.eventually("no offer is left") { desk.watcher.offers.isEmpty }
            _ = try await desk.offer(one)
            one.invalidate()
            try await desk.stage.eventually("no offer is left") { desk.watcher.offers.isEmpty }
            let host = try await desk.laptop.activityHost()
            let error = await #expect(throws: RemoteSystemError.self) { try await one.becomeCurrent(at: host) }
            #expect(error?.code == .misuse)
        }
    }

    @Test func `systems nearby learn of an offer on their own, and a filter leaves out those that are not near (H-53)`()
        async throws
    {
        try await Desk.with(Log()) { desk in
            let watchers = [.proximal, .cloud].map { type in
                UserActivityWatcher(desk.stage.configuration, filters: [.discoveryType(type)])
            }
            for watcher in watchers { try await watcher.start() }
            // The one that watches asks for nothing.
            let offer = try await desk.offer(UserActivity(type: Self.editing))
            #expect(offer.system.isAvailableByProximity)
            try await desk.stage.eventually("it is near") { watchers[0].offers.map(\.id) == [offer.id] }
            // The other one sees the systems, too.
            try await desk.stage.eventually("the systems are left out") {
                await watchers[1].findings().last?.condition == .near
            }
            try await desk.stage.settle()
            #expect(watchers[1].offers.isEmpty && watchers[0].offers.map(\.id) == [offer.id])
            for watcher in watchers { await watcher.stop() }
        }
    }

    @Test func `an offer ends with its process, and with its time (X-04)`() async throws {
        try await Desk.with(Log()) { desk in
            let activity = UserActivity(type: Self.editing)
            _ = try await desk.offer(activity)
            try await desk.stage.vanishes(desk.laptop, .crash)
            try await desk.stage.eventually("the offer is gone") { desk.watcher.offers.isEmpty }

            try await desk.stage.appears(desk.laptop)
            let short = UserActivity(type: Self.editing)
            short.expirationDate = Date() + 30
            _ = try await desk.offer(short)
            try await desk.stage.advance(by: .seconds(31))
            try await desk.stage.eventually("the offer is gone") { desk.watcher.offers.isEmpty }
            #expect(!short.isCurrent)

            // Without a date, an offer is refreshed as long as the activity is current.
            let long = UserActivity(type: Self.editing)
            _ = try await desk.offer(long)
            try await desk.stage.advance(by: .seconds(3600))
            #expect(desk.watcher.offers.map(\.id) == [long.id])
        }
    }

    @Test func `of two systems that continue an activity, the second one is refused`() async throws {
        let log = Log()
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: Self.editing)
            let offer = try await desk.offer(activity)
            try await desk.continue(offer)
            // The list of the second one is older.
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .alreadyContinued)
            #expect(
                log.events.suffix(3) == [
                    "connecting", "requesting", "failed com.example.editing alreadyContinued",
                ]
            )
        }
    }

    @Test func `content that may not be sent fails on both sides, and the activity stays offered (H-27, X-01)`()
        async throws
    {
        let log = Log()
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: Self.editing)
            activity.userInfo = ["id": .uuid(UUID())]
            let offer = try await desk.offer(activity)
            let invalid = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(invalid?.code == .payloadInvalid)
            #expect(invalid?.side == .remote)
            #expect(invalid?.message.contains("id") == true)

            activity.userInfo = ["text": .string(String(repeating: "x", count: 65 << 10))]
            let large = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(large?.code == .payloadTooLarge)
            // The message names the size, and the maximum.
            let size = large?.message.firstMatch(of: /has ([0-9]+) bytes; at most 65536/).flatMap { Int($0.1) }
            let sizes = (65 << 10)...(66 << 10)
            #expect(size.map { sizes.contains($0) } == true, "\(large?.message ?? "")")

            #expect(activity.isCurrent)
            activity.userInfo = ["left": 1]
            try await desk.continue(offer)
            #expect(log.activity?.userInfo == ["left": 1])
        }
    }

    @Test func `an application that cannot continue reports it, and the origin offers the activity again (H-61)`()
        async throws
    {
        let log = Log(isContinued: false)
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: Self.editing)
            let offer = try await desk.offer(activity)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .handlerFailed)
            #expect(log.events.last == "failed com.example.editing handlerFailed")
            try await desk.stage.eventually("the origin offers it again") {
                activity.isCurrent && desk.watcher.offers.map(\.id) == [activity.id]
            }
        }
    }

    @Test func `an application refuses a version of the content that it does not read (H-62, B-09)`() async throws {
        final class Old: ContinuationHandler {
            let reported = Mutex<ContinuationError.Code?>(nil)

            func continueUserActivity(
                _ activity: UserActivity,
                restore: @escaping ActivityRestoration
            ) async throws -> Bool {
                guard let version = activity.payloadVersion, version > 1 else { return true }
                throw ContinuationError(.versionNotSupported, "Version \(version) is not supported.", side: .local)
            }

            func didFailToContinueUserActivity(type: String, error: ContinuationError) async {
                self.reported.withLock { $0 = error.code }
            }
        }
        let old = Old()
        try await Desk.with(old) { desk in
            let activity = UserActivity(type: Self.editing)
            activity.payloadVersion = 2
            let offer = try await desk.offer(activity)
            #expect(offer.payloadVersion == 2)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .versionNotSupported)
            #expect(old.reported.withLock { $0 } == .versionNotSupported)
            // A newer application may continue it.
            try await desk.stage.eventually("the origin offers it again") { activity.isCurrent }
            activity.payloadVersion = 1
            try await desk.continue(try await desk.offer(activity))
        }
    }

    @Test func `an application that continues before the confirmation and cannot leaves the activity to its origin`()
        async throws
    {
        let log = Log(isContinued: false)
        var options = UserActivityHost.Options()
        options.continuesBeforeConfirmation = true
        try await Desk.with(log, options: options) { desk in
            let origin = Origin()
            let activity = UserActivity(type: Self.editing)
            activity.delegate = origin
            let offer = try await desk.offer(activity)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .handlerFailed)
            #expect(log.events.last == "failed com.example.editing handlerFailed")
            #expect(origin.content.withLock { $0.receiver } == nil)
            #expect(activity.isCurrent)
            #expect(desk.watcher.offers.map(\.id) == [activity.id])
        }
    }

    @Test func `an application that continues before the confirmation has continued once, and the origin learns it`()
        async throws
    {
        let log = Log()
        var options = UserActivityHost.Options()
        options.continuesBeforeConfirmation = true
        try await Desk.with(log, options: options) { desk in
            let origin = Origin()
            let activity = UserActivity(type: Self.editing)
            activity.delegate = origin
            let offer = try await desk.offer(activity)
            try await desk.continue(offer)
            #expect(log.events.filter { $0 == "continued" }.count == 1)
            try await desk.stage.eventually("the origin learns it") { origin.content.withLock { $0.receiver } != nil }
            #expect(!activity.isCurrent)
        }
    }

    @Test func `a type that the application does not handle is refused before anything is asked`() async throws {
        let log = Log()
        try await Desk.with(log) { desk in
            let offer = try await desk.offer(UserActivity(type: "com.example.unknown"))
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .noHandler)
            #expect(log.events.isEmpty)
        }
    }

    @Test func `a program of the system lets an application continue an offer; another system cannot`() async throws {
        let log = Log()
        try await Desk.with(log) { desk in
            let offer = try await desk.offer(UserActivity(type: Self.editing))
            let request = ContinuationRequest.receive(try OfferReference(offer))
            // The stage's own system calls the desktop's application.
            let watcher = desk.stage.watcher()
            try await watcher.start()
            try await desk.stage.eventually("both are listed") { watcher.systems.count == 2 }
            let listed = try #require(watcher.systems.first { $0.displayName == "Desktop" })
            let error = await #expect(throws: ContinuationError.self) {
                try await listed.application("com.example.editor")?.withAppService(ActivityDescriptor.topic) {
                    _ = try await request.send(over: $0, timeout: .seconds(10))
                }
            }
            #expect(error?.code == .notAuthorized)
            #expect(log.events.isEmpty)
            await watcher.stop()

            var configuration = desk.configuration
            configuration.applicationID = "com.example.panel"
            let connection = AppServiceConnection(to: AppServiceDescription(name: ActivityDescriptor.topic))
            let here = RemoteSystemConnectionRequest(
                host: desk.desktop.address,
                port: try await desk.desktop.port(),
                systemID: desk.desktop.id,
                configuration: configuration
            )
            #expect(try await connection.open(here) == .success)
            _ = try await request.send(over: connection, timeout: .seconds(10))
            #expect(log.events.last == "continued")
            await connection.close()
        }
    }
}
