// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// Applications that respond wrongly, hang or fail, on either side. Nothing is lost at the origin.
@Suite(.timeLimit(.minutes(2))) struct HostileApplicationTests {
    typealias Desk = ContinuationTests.Desk

    /// Runs a body with an origin that responds as it likes to the requests of a continuation.
    private func with(
        handler: any ContinuationHandler = RestoringHandler(objects: []),
        _ response: @escaping @Sendable (ValueSet) async throws -> ValueSet,
        _ body:
            @escaping @Sendable (_ offer: UserActivityOffer, _ desktop: StagedSystem, _ stage: DiscoveryStage)
            async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let service = AppService(ActivityDescriptor.topic, requestSchema: .full, responseSchema: .full) {
                try await response($0.message)
            }
            var editor = StagedApplication("com.example.editor")
            editor.activities = .init(types: [ContinuationTests.editing], handler: handler)
            let laptop = try stage.system("Laptop", application: "com.example.editor", services: [service])
            let desktop = try stage.system("Desktop", applications: [editor])
            for system in [laptop, desktop] { try await stage.appears(system) }
            let watcher = stage.watcher()
            try await watcher.start()
            try await stage.eventually("both are listed") { watcher.systems.count == 2 }
            let system = try #require(watcher.systems.first { $0.id == laptop.id })
            let activity = UserActivity(type: ContinuationTests.editing)
            let descriptor = ActivityDescriptor(activity, expirationDate: .distantFuture, lifetime: .seconds(60))
            try await body(
                UserActivityOffer(descriptor, application: "com.example.editor", on: system),
                desktop,
                stage
            )
            await watcher.stop()
        }
    }

    /// Continues an offer, and returns why it could not be.
    private static func failure(of offer: UserActivityOffer, _ host: UserActivityHost) async -> ContinuationError? {
        do throws(ContinuationError) {
            try await host.continue(offer)
            return nil
        } catch {
            return error
        }
    }

    private static let payload: ValueSet = ["Type": .string(ContinuationTests.editing), "UserInfo": ["Caret": 1]]

    @Test(
        arguments: [
            [:], ["Continuation": "text", "Payload": [:]], ["Continuation": .uuid(UUID())],
            ["Continuation": .uuid(UUID()), "Payload": "text"], ["Continuation": .uuid(UUID()), "Payload": [:]],
            ["Continuation": .uuid(UUID()), "Payload": ["Type": "com.example.other", "UserInfo": [:]]],
            ["Continuation": .uuid(UUID()), "Payload": ["Type": "com.example.editing", "UserInfo": "text"]],
            [
                "Continuation": .uuid(UUID()),
                "Payload": ["Type": "com.example.editing", "UserInfo": ["A": .uuid(UUID())]],
            ],
        ] as [ValueSet]
    )
    func `content of another form is refused, and not confirmed`(response: ValueSet) async throws {
        let requests = Mutex<[String]>([])
        try await self.with { message in
            requests.withLock { $0.append(message["Request"]?.string ?? "") }
            return response
        } _: { offer, desktop, _ in
            let host = try await desktop.activityHost()
            let error = await #expect(throws: ContinuationError.self) { try await host.continue(offer) }
            #expect(error?.code == .payloadInvalid && error?.message.isEmpty == false)
            #expect(requests.withLock { $0 } == ["fetch"])
        }
    }

    @Test func `an origin that responds to nothing ends in a time-out`() async throws {
        try await self.with { _ in
            try await Task.sleep(for: .seconds(3600))
            return [:]
        } _: { offer, desktop, stage in
            let host = try await desktop.activityHost()
            async let failure = Self.failure(of: offer, host)
            try await stage.settle()
            try await stage.advance(by: .seconds(20))
            let code = await failure?.code
            #expect(code == .timedOut)
        }
    }

    @Test func `an origin that fails to confirm is not continued`() async throws {
        try await self.with { message in
            guard message["Request"] == "fetch" else { throw AppServiceFailure("No.", code: "com.example.no") }
            return ["Continuation": .uuid(UUID()), "Payload": .dictionary(Self.payload)]
        } _: { offer, desktop, _ in
            let host = try await desktop.activityHost()
            let error = await #expect(throws: ContinuationError.self) { try await host.continue(offer) }
            #expect(error?.code == .payloadInvalid)
        }
    }

    @Test(arguments: [false, true])
    func `an origin that does not know how to take an activity back, or hangs, changes no error of the handler`(
        isOlder: Bool
    ) async throws {
        let requests = Mutex<[String]>([])
        let handler = Faulty(.fails)
        try await self.with(handler: handler) { message in
            let request = message["Request"]?.string ?? ""
            requests.withLock { $0.append(request) }
            if request == "fetch" { return ["Continuation": .uuid(UUID()), "Payload": .dictionary(Self.payload)] }
            guard request == "return" else { return [:] }
            // Never responds: the test is over long before.
            if !isOlder { try await Task.sleep(for: .seconds(3600)) }
            throw AppServiceFailure("Unknown.", code: "\(ActivityDescriptor.topic).request-unknown")
        } _: { offer, desktop, stage in
            let host = try await desktop.activityHost()
            async let failure = Self.failure(of: offer, host)
            let once = ["fetch", "confirm", "return"]
            try await stage.eventually("it is returned") { requests.withLock { $0 } == once }
            // Over another connection, too, if there is no response.
            let all = isOlder ? once : once + ["confirm", "return"]
            if !isOlder {
                try await stage.advance(by: .seconds(6))
                try await stage.eventually("it is returned again") { requests.withLock { $0 } == all }
                try await stage.advance(by: .seconds(6))
            }
            let error = await failure
            #expect(error?.code == .handlerFailed && error?.cause is Faulty.Failure)
            #expect(requests.withLock { $0 } == all)
        }
    }

    /// Hangs or fails at a stated step.
    private final class Faulty: ContinuationHandler {
        enum Fault { case decides, decidesAndFails, fails, hangs }
        struct Failure: Error {}

        let fault: Fault
        let log = Mutex<[String]>([])

        init(_ fault: Fault) { self.fault = fault }

        private func hang() async {
            // Does not even notice that it is cancelled.
            await withCheckedContinuation { (waiting: CheckedContinuation<Void, Never>) in
                Self.waiting.withLock { $0.append(waiting) }
            }
        }

        private static let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

        func willContinueUserActivity(type: String) async -> Bool {
            self.log.withLock { $0.append("will") }
            if self.fault == .decides || self.fault == .decidesAndFails { await self.hang() }
            return true
        }

        func continueUserActivity(
            _ activity: UserActivity,
            restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
        ) async throws -> Bool {
            self.log.withLock { $0.append("continue") }
            if self.fault == .fails { throw Failure() }
            if self.fault == .hangs { await self.hang() }
            return true
        }

        func didFailToContinueUserActivity(type: String, error: ContinuationError) async {
            self.log.withLock { $0.append("failed \(error.code)") }
            if self.fault == .decidesAndFails { await self.hang() }
        }
    }

    @Test func `a handler that throws is a failure with its error as the cause (H-61)`() async throws {
        let handler = Faulty(.fails)
        try await Desk.with(handler) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .handlerFailed && error?.cause is Faulty.Failure)
            #expect(handler.log.withLock { $0 } == ["will", "continue", "failed handlerFailed"])
            try await desk.stage.eventually("the origin offers it again") {
                activity.isCurrent && desk.watcher.offers.map(\.id) == [activity.id]
            }
        }
    }

    @Test func `a handler that never decides is given up, and the offer stays (H-55)`() async throws {
        let handler = Faulty(.decides)
        try await Desk.with(handler) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            let host = try await desk.desktop.activityHost()
            async let failure = Self.failure(of: offer, host)
            try await desk.stage.eventually("it is asked") { handler.log.withLock { $0 } == ["will"] }
            try await desk.stage.advance(by: .seconds(6))
            let code = await failure?.code
            #expect(code == .timedOut)
            #expect(handler.log.withLock { $0 } == ["will", "failed timedOut"])
            #expect(activity.isCurrent && desk.watcher.offers.map(\.id) == [activity.id])
        }
    }

    @Test func `a handler that hangs in each method keeps no place, and its caller learns of it (H-55, H-61)`()
        async throws
    {
        let handler = Faulty(.decidesAndFails)
        try await Desk.with(handler) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            let host = try await desk.desktop.activityHost()
            // The last one finds a place only if the others have left theirs.
            for round in 1...(ActivityReceiver.maxRunning + 1) {
                async let failure = Self.failure(of: offer, host)
                try await desk.stage.eventually("it is asked") {
                    handler.log.withLock { $0.count { $0 == "will" } } == round
                }
                try await desk.stage.advance(by: .seconds(6))
                try await desk.stage.eventually("it is notified of the failure") {
                    handler.log.withLock { $0.count { $0 == "failed timedOut" } } == round
                }
                try await desk.stage.advance(by: .seconds(6))
                let code = await failure?.code
                #expect(code == .timedOut)
            }
            #expect(activity.isCurrent && desk.watcher.offers.map(\.id) == [activity.id])
        }
    }

    private final class Codes: Sendable {
        let all = Mutex<[ContinuationError.Code?]>([])
    }

    @Test func `handlers that never return keep a bounded number of places`() async throws {
        let handler = Faulty(.hangs)
        try await Desk.with(handler) { desk in
            let codes = Codes()
            let host = try await desk.desktop.activityHost()
            for _ in 0..<ActivityReceiver.maxRunning {
                let offer = try await desk.offer(UserActivity(type: ContinuationTests.editing))
                _ = Task(executorPreference: desk.stage.taskExecutor) {
                    let failure = await Self.failure(of: offer, host)
                    codes.all.withLock { $0.append(failure?.code) }
                }
                try await desk.stage.eventually("the origin has handed it over") {
                    !desk.watcher.offers.contains { $0.id == offer.id }
                }
            }
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .busy && error?.canRetry == true)
            #expect(error?.message.contains("8 other activities") == true)
            #expect(activity.isCurrent)
            // Each has its time. The activities that they return have been replaced by this one.
            try await desk.stage.advance(by: .seconds(241))
            try await desk.stage.eventually("all have ended") {
                codes.all.withLock { $0 } == Array(repeating: .timedOut, count: ActivityReceiver.maxRunning)
            }
            #expect(activity.isCurrent && desk.watcher.offers.map(\.id) == [activity.id])
            // The places are free, and the last activity comes back.
            async let failure = Self.failure(of: offer, host)
            try await desk.stage.eventually("the origin has handed it over") { !activity.isCurrent }
            try await desk.stage.advance(by: .seconds(241))
            let code = await failure?.code
            #expect(code == .timedOut)
            try await desk.stage.eventually("the origin offers it again") {
                activity.isCurrent && desk.watcher.offers.map(\.id) == [activity.id]
            }
        }
    }

    @Test(arguments: [-1, .nan, -.infinity] as [Double])
    func `an activity whose time is over cannot become current, and one that expires is withdrawn (X-04)`(
        seconds: Double
    ) async throws {
        try await Desk.with(RestoringHandler(objects: [])) { desk in
            let host = try await desk.laptop.activityHost()
            let activity = UserActivity(type: ContinuationTests.editing)
            activity.expirationDate = Date(timeIntervalSinceNow: seconds)
            let error = await #expect(throws: RemoteSystemError.self) { try await activity.becomeCurrent(at: host) }
            #expect(error?.code == .invalidArgument && error?.message.contains("expiration date") == true)
            #expect(!activity.isCurrent)
            activity.expirationDate = .distantFuture
            let offer = try await desk.offer(activity)
            // However late the date is, an offer that is not refreshed lasts 10 minutes. This test has taken less than
            // two of them.
            #expect((480...600).contains(offer.expirationDate.timeIntervalSinceNow))
            activity.expirationDate = Date(timeIntervalSinceNow: seconds)
            #expect(!activity.isCurrent)
            try await desk.stage.eventually("it is withdrawn") { desk.watcher.offers.isEmpty }
        }
    }

    @Test func `an application that may run in several processes cannot hand over`() async throws {
        try await DiscoveryStage.with { stage in
            var options = UserActivityHost.Options()
            options.host.allowsSeveralProcesses = true
            let host = UserActivityHost(
                stage.configuration,
                activityTypes: [],
                options: options,
                handler: .closure { _ in }
            )
            let error = await #expect(throws: RemoteSystemError.self) { try await host.run(isStaged: true) }
            #expect(error?.code == .misuse && error?.message.contains("allowsSeveralProcesses") == true)
        }
    }

    @Test func `a password does not leave with the address from which the user came`() async throws {
        try await Desk.with(RestoringHandler(objects: [])) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            activity.referrerURL = URL(string: "https://me:secret@example.com/")
            let host = try await desk.laptop.activityHost()
            let error = await #expect(throws: RemoteSystemError.self) { try await activity.becomeCurrent(at: host) }
            #expect(error?.code == .invalidArgument && error?.message.contains("secret") == false)
        }
    }

    @Test(arguments: ["file:///etc/hosts", "javascript:alert(1)", "ftp://example.com/", "https:///list"])
    func `the address from which the user came is a web address on both sides`(text: String) async throws {
        let url = try #require(URL(string: text))
        try await Desk.with(RestoringHandler(objects: [])) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            activity.referrerURL = url
            let host = try await desk.laptop.activityHost()
            let error = await #expect(throws: RemoteSystemError.self) { try await activity.becomeCurrent(at: host) }
            #expect(error?.code == .invalidArgument && error?.message.contains("referrer") == true)
        }
        let message: ValueSet = [
            "Type": .string(ContinuationTests.editing), "UserInfo": .dictionary([:]), "Referrer": .url(url),
        ]
        let error = #expect(throws: ContinuationError.self) {
            try ActivityPayload(message, offeredAs: ContinuationTests.editing)
        }
        #expect(error?.code == .payloadInvalid && error?.side == .remote)
    }

    @Test func `activities that are not offered any more are released (H-30)`() async throws {
        try await Desk.with(RestoringHandler(objects: [])) { desk in
            let host = try await desk.laptop.activityHost()
            weak var former: UserActivity?
            do {
                let activity = UserActivity(type: ContinuationTests.editing)
                former = activity
                try await activity.becomeCurrent(at: host)
            }
            // The host keeps the current activity.
            let isKept = former != nil
            #expect(isKept)
            let next = UserActivity(type: ContinuationTests.editing)
            try await next.becomeCurrent(at: host)
            try await desk.stage.advance(by: .seconds(301))
            let isReleased = former == nil
            #expect(isReleased)
        }
    }
}
