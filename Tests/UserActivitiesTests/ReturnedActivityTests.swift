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

/// Activities whose receiver fails after it has confirmed them. They go back to their origin.
@Suite(.timeLimit(.minutes(2))) struct ReturnedActivityTests {
    // MARK: The rules

    /// An origin with an activity that one receiver has continued.
    private struct Continued {
        var continuations = OutgoingContinuations()
        let activity = UUID()
        let id = UUID()
        let start = ContinuousClock.now
        let receiver: SystemID
        private let objects = (0..<2).map { _ in UserActivity(type: "a.b") }
        var link: ObjectIdentifier { ObjectIdentifier(self.objects[0]) }
        var otherLink: ObjectIdentifier { ObjectIdentifier(self.objects[1]) }

        init() throws {
            self.receiver = try #require(SystemID(bytes: Array(repeating: 1, count: 32)))
            try self.confirm(self.id)
        }

        mutating func confirm(_ id: UUID) throws {
            self.continuations.becameCurrent()
            self.continuations.offer(self.activity)
            try self.begin(id)
            let continued = try self.continuations.confirm(id, over: self.link, by: self.receiver, now: self.start)
            #expect(continued == self.activity)
        }

        mutating func begin(_ id: UUID) throws(OutgoingContinuations.Refusal) {
            let holder = QuotaHolder.system(self.receiver)
            try self.continuations.begin(self.activity, id: id, over: self.link, for: holder, now: self.start)
        }
    }

    @Test func `a receiver returns its own confirmed continuation, and once`() throws {
        var origin = try Continued()
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try origin.continuations.takeBack(origin.id, over: origin.otherLink, now: origin.start)
        }
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try origin.continuations.takeBack(UUID(), over: origin.link, now: origin.start)
        }
        let returned = try origin.continuations.takeBack(origin.id, over: origin.link, now: origin.start)
        #expect(returned == origin.activity && origin.continuations.activities.isEmpty)
        let (isOffered, isOfferedTwice) = (
            origin.continuations.isOfferedAgain(after: origin.id), origin.continuations.isOfferedAgain(after: origin.id)
        )
        #expect(isOffered && !isOfferedTwice)
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try origin.continuations.takeBack(origin.id, over: origin.link, now: origin.start)
        }
        // A repeated confirmation does not bring the continuation back.
        for link in [origin.link, origin.otherLink] {
            #expect(throws: OutgoingContinuations.Refusal.unknown) {
                try origin.continuations.confirm(origin.id, over: link, by: origin.receiver, now: origin.start)
            }
        }
        // Offered again, it can be continued again.
        try origin.confirm(UUID())
    }

    @Test func `a continuation that is not confirmed, or has ended with its connection, is not returned`() throws {
        var origin = try Continued()
        origin.continuations.offer(origin.activity)
        let begun = UUID()
        try origin.begin(begun)
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try origin.continuations.takeBack(begun, over: origin.link, now: origin.start)
        }
        _ = origin.continuations.ended(origin.link, isLost: false, now: origin.start)
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try origin.continuations.takeBack(origin.id, over: origin.link, now: origin.start)
        }
    }

    @Test func `a continuation is returned within its time, which another confirmation does not extend`() throws {
        var origin = try Continued()
        let end = origin.start + OutgoingContinuations.returnTime
        let again = try origin.continuations.confirm(
            origin.id,
            over: origin.otherLink,
            by: origin.receiver,
            now: end - .seconds(1)
        )
        #expect(again == nil)
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try origin.continuations.takeBack(origin.id, over: origin.otherLink, now: end)
        }
        let last = end - .nanoseconds(1)
        let returned = try origin.continuations.takeBack(origin.id, over: origin.otherLink, now: last)
        #expect(returned == origin.activity)
        var options = UserActivityHost.Options()
        options.continuationTimeout = OutgoingContinuations.returnTime
        // The origin waits longer than any receiver.
        #expect(throws: RemoteSystemError.self) { try options.validate() }
    }

    @Test func `an activity is not offered again after another one has become current`() throws {
        var origin = try Continued()
        origin.continuations.becameCurrent()
        let returned = try origin.continuations.takeBack(origin.id, over: origin.link, now: origin.start)
        let isOffered = origin.continuations.isOfferedAgain(after: origin.id)
        #expect(returned == origin.activity && !isOffered)
    }

    @Test(arguments: [0, 1])
    func `a return counts in the limit of a system's continuations, and is not refused beyond it`(left: Int) throws {
        var origin = try Continued()
        for _ in 1..<(Int(OutgoingContinuations.burst) - left) {
            origin.continuations.offer(origin.activity)
            let id = UUID()
            try origin.begin(id)
            origin.continuations.fail(id)
        }
        let returned = try origin.continuations.takeBack(origin.id, over: origin.link, now: origin.start)
        #expect(returned == origin.activity)
        origin.continuations.offer(origin.activity)
        #expect(throws: OutgoingContinuations.Refusal.tooMany) { try origin.begin(UUID()) }
    }

    // MARK: Between systems

    enum Fault: CaseIterable, Sendable { case throwing, returningFalse, hanging }

    private struct Failure: Error {}

    /// Fails after something has happened.
    private final class Failing: ContinuationHandler {
        let fault: Fault
        let before = Mutex<@Sendable () async throws -> Void>({})
        let isRestoring = Mutex(false)

        init(_ fault: Fault) { self.fault = fault }

        func continueUserActivity(_ activity: UserActivity, restore: @escaping ActivityRestoration) async throws -> Bool
        {
            self.isRestoring.withLock { $0 = true }
            let before = self.before.withLock { $0 }
            try await before()
            switch self.fault {
            case .throwing: throw Failure()
            case .returningFalse: return false
            case .hanging:
                // Does not even notice that it is cancelled.
                await withCheckedContinuation { (waiting: CheckedContinuation<Void, Never>) in
                    Self.waiting.withLock { $0.append(waiting) }
                }
                return true
            }
        }

        private static let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
    }

    private final class Origin: UserActivityDelegate {
        let events = Mutex<[String]>([])
        let afterContinued = Mutex<@Sendable () -> Void>({})
        private let neverReturns: Bool

        init(neverReturns: Bool = false) { self.neverReturns = neverReturns }

        func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            self.events.withLock { $0.append("continued") }
            self.afterContinued.withLock { $0 }()
            // Real time, which the stage's clock does not advance.
            if self.neverReturns { try? await Task.sleep(for: .seconds(1 << 30)) }
        }

        func userActivityWasReturned(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            self.events.withLock { $0.append(activity.isCurrent ? "returned" : "returned, not current") }
        }
    }

    private struct Three: Sendable {
        let stage: DiscoveryStage
        let laptop: StagedSystem
        let desktop: StagedSystem
        let tablet: StagedSystem
        let watcher: UserActivityWatcher
        let log: ContinuationTests.Log

        /// Runs a body with a laptop that offers an activity, a desktop that fails to continue it, and a tablet that
        /// can.
        static func with(
            _ handler: Failing,
            _ body: @escaping @Sendable (Three) async throws -> Void
        ) async throws {
            try await DiscoveryStage.with { stage in
                func editor(_ handler: some ContinuationHandler) -> StagedApplication {
                    var editor = StagedApplication("com.example.editor")
                    editor.activities = .init(types: [ContinuationTests.editing], handler: handler)
                    return editor
                }
                let log = ContinuationTests.Log()
                let three = Three(
                    stage: stage,
                    laptop: try stage.system("Laptop", applications: [editor(log)]),
                    desktop: try stage.system("Desktop", applications: [editor(handler)]),
                    tablet: try stage.system("Tablet", applications: [editor(log)]),
                    watcher: UserActivityWatcher(stage.configuration),
                    log: log
                )
                for system in [three.laptop, three.desktop, three.tablet] { try await stage.appears(system) }
                try await three.watcher.start()
                try await body(three)
                await three.watcher.stop()
            }
        }

        func offer(_ activity: UserActivity) async throws -> UserActivityOffer {
            try await activity.becomeCurrent(at: self.laptop.activityHost())
            return try await self.listed(activity)
        }

        func listed(_ activity: UserActivity) async throws -> UserActivityOffer {
            try await self.stage.eventually("the offer is listed") {
                self.watcher.offers.map(\.id) == [activity.id]
            }
            return try #require(self.watcher.offers.first)
        }

        /// Fails to continue an offer on the desktop.
        func fail(_ offer: UserActivityOffer) async throws -> ContinuationError? {
            let host = try await self.desktop.activityHost()
            do throws(ContinuationError) {
                try await host.continue(offer)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func `an activity whose handler fails is offered again, and a third system continues it (H-61)`(
        fault: Fault
    ) async throws {
        let handler = Failing(fault)
        try await Three.with(handler) { three in
            let (activity, origin) = (UserActivity(type: ContinuationTests.editing, title: "Minutes"), Origin())
            activity.delegate = origin
            activity.userInfo = ["left": 318]
            let offer = try await three.offer(activity)
            async let failure = three.fail(offer)
            try await three.stage.eventually("it is being restored") { handler.isRestoring.withLock { $0 } }
            if fault == .hanging {
                #expect(!activity.isCurrent)
                try await three.stage.advance(by: UserActivityHost.Options().continuationTimeout)
            }
            let error = try await failure
            #expect(error?.code == (fault == .hanging ? .timedOut : .handlerFailed) && error?.side == .local)
            try await three.stage.eventually("the origin learns both") {
                origin.events.withLock { $0 } == ["continued", "returned"]
            }
            let again = try await three.listed(activity)
            #expect(again.title == "Minutes")
            try await three.tablet.activityHost().continue(again)
            #expect(three.log.events.contains("left restores 318") && three.log.events.last == "continued")
            try await three.stage.eventually("the origin learns it") {
                origin.events.withLock { $0 } == ["continued", "returned", "continued"]
            }
            #expect(!activity.isCurrent)
        }
    }

    enum Meanwhile: CaseIterable, Sendable { case another, anotherAndEnded, invalidated, expired }

    @Test(arguments: Meanwhile.allCases)
    func `an activity that has ended, or was replaced, is returned and not offered again`(
        meanwhile: Meanwhile
    ) async throws {
        let handler = Failing(.throwing)
        try await Three.with(handler) { three in
            let (activity, other) = (
                UserActivity(type: ContinuationTests.editing), UserActivity(type: "com.example.new")
            )
            let origin = Origin()
            activity.delegate = origin
            let offer = try await three.offer(activity)
            let host = try await three.laptop.activityHost()
            handler.before.withLock { before in
                before = {
                    switch meanwhile {
                    case .another: try await other.becomeCurrent(at: host)
                    case .anotherAndEnded:
                        try await other.becomeCurrent(at: host)
                        other.resignCurrent()
                    case .invalidated: activity.invalidate()
                    case .expired: activity.expirationDate = Date(timeIntervalSinceNow: -1)
                    }
                }
            }
            let error = try await three.fail(offer)
            #expect(error?.code == .handlerFailed)
            try await three.stage.eventually("the origin learns both") {
                origin.events.withLock { $0 } == ["continued", "returned, not current"]
            }
            let listed = meanwhile == .another ? [other.id] : []
            try await three.stage.eventually("it is not listed") { three.watcher.offers.map(\.id) == listed }
            #expect(!activity.isCurrent && other.isCurrent == (meanwhile == .another))
        }
    }

    @Test func `an activity comes back whose receiver is cancelled while its confirmation is on the way`() async throws
    {
        let handler = Failing(.throwing)
        try await Three.with(handler) { three in
            let (activity, origin) = (UserActivity(type: ContinuationTests.editing), Origin())
            activity.delegate = origin
            let offer = try await three.offer(activity)
            let failing = Task(executorPreference: three.stage.taskExecutor) {
                try await three.fail(offer)
            }
            // The origin has given it up, and its response has not arrived.
            origin.afterContinued.withLock { $0 = { failing.cancel() } }
            let error = try await failing.value
            #expect(error?.code == .timedOut && error?.side == .local)
            let isRestoring = handler.isRestoring.withLock { $0 }
            #expect(!isRestoring)
            try await three.stage.eventually("the origin learns both") {
                origin.events.withLock { $0 } == ["continued", "returned"]
            }
            _ = try await three.listed(activity)
        }
    }

    @Test func `a delegate that never returns after an activity was continued does not prevent that it comes back`()
        async throws
    {
        try await Three.with(Failing(.throwing)) { three in
            let (activity, origin) = (UserActivity(type: ContinuationTests.editing), Origin(neverReturns: true))
            activity.delegate = origin
            let offer = try await three.offer(activity)
            let error = try await three.fail(offer)
            #expect(error?.code == .handlerFailed)
            try await three.stage.settle()
            // It may still be giving the task up.
            #expect(!activity.isCurrent && origin.events.withLock { $0 } == ["continued"])
            try await three.stage.advance(by: UserActivityHost.Options().saveTimeout)
            try await three.stage.eventually("the origin learns both") {
                origin.events.withLock { $0 } == ["continued", "returned"]
            }
            _ = try await three.listed(activity)
        }
    }
}
