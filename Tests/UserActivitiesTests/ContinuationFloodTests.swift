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

/// One system of the account that takes as much of another one's hand-off as it can. The others continue activities.
@Suite(.timeLimit(.minutes(2))) struct ContinuationFloodTests {
    typealias Desk = ContinuationTests.Desk

    /// Connects the stage's own system, the attacker, to the application that offers an activity.
    private static func connect(to offer: UserActivityOffer) async throws -> AppServiceConnection {
        let application = try #require(offer.system.application(offer.applicationID))
        let connection = AppServiceConnection(to: AppServiceDescription(name: ActivityDescriptor.topic))
        let status = try await connection.open(.application(application))
        #expect(status == .success)
        return connection
    }

    /// Sends a request, and returns why it was refused.
    private static func failure(
        of request: ContinuationRequest,
        over connection: AppServiceConnection
    ) async throws -> ContinuationError? {
        do {
            _ = try await request.send(over: connection, timeout: .seconds(10))
            return nil
        } catch let error as ContinuationError {
            return error
        }
    }

    @Test func `a system that begins continuations over many connections keeps no other one from continuing`()
        async throws
    {
        let log = ContinuationTests.Log()
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            let fetch = ContinuationRequest.fetch(activity: activity.id, voucher: nil)
            var connections: [AppServiceConnection] = []
            var begun = 0
            // As many as would take the places of all systems.
            for _ in 0..<(OutgoingContinuations.maxInAll / OutgoingContinuations.maxOnLink) {
                let connection = try await Self.connect(to: offer)
                connections.append(connection)
                for _ in 0..<OutgoingContinuations.maxOnLink {
                    let failure = try await Self.failure(of: fetch, over: connection)
                    #expect(failure == nil || failure?.code == .busy)
                    if failure == nil { begun += 1 }
                }
            }
            #expect(begun == OutgoingContinuations.maxEach)
            try await desk.continue(offer)
            #expect(log.events.last == "continued" && !activity.isCurrent)
            for connection in connections { await connection.close() }
        }
    }

    @Test func `a continuation beyond a limit is refused as busy, and succeeds when it is repeated later`()
        async throws
    {
        try await Desk.with(ContinuationTests.Log()) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            let fetch = ContinuationRequest.fetch(activity: activity.id, voucher: nil)
            let (first, second) = (try await Self.connect(to: offer), try await Self.connect(to: offer))
            for number in 0..<OutgoingContinuations.maxEach {
                let connection = number < OutgoingContinuations.maxOnLink ? first : second
                let failure = try await Self.failure(of: fetch, over: connection)
                #expect(failure == nil)
            }
            let third = try await Self.connect(to: offer)
            let refused = try await Self.failure(of: fetch, over: third)
            #expect(refused?.code == .busy && refused?.canRetry == true && refused?.side == .remote)
            #expect((refused?.cause as? RemoteSystemError)?.failureCode == "\(ActivityDescriptor.topic).busy")
            #expect(activity.isCurrent)
            // The continuations of a connection end with it.
            await first.close()
            try await desk.stage.eventually("there is a place again") {
                try await Self.failure(of: fetch, over: third) == nil
            }
            await second.close()
            await third.close()
        }
    }

    @Test func `a system that continues and returns an activity without end is stopped, and another one continues`()
        async throws
    {
        let log = ContinuationTests.Log()
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            let (connection, other) = (try await Self.connect(to: offer), try await Self.connect(to: offer))
            var rounds = 0
            while true {
                let content: ValueSet
                do {
                    content = try await ContinuationRequest.fetch(activity: activity.id, voucher: nil)
                        .send(over: connection, timeout: .seconds(10))
                } catch let error as ContinuationError {
                    #expect(error.code == .busy)
                    break
                }
                let continuation = try #require(content[ContinuationResponse.continuation]?.uuid)
                let early = try await Self.failure(of: .return(continuation: continuation), over: connection)
                #expect(early?.code == .activityUnknown)
                let confirmed = try await Self.failure(of: .confirm(continuation: continuation), over: connection)
                let foreign = try await Self.failure(of: .return(continuation: continuation), over: other)
                #expect(confirmed == nil && foreign?.code == .activityUnknown)
                let returned = try await Self.failure(of: .return(continuation: continuation), over: connection)
                let again = try await Self.failure(of: .return(continuation: continuation), over: connection)
                #expect(returned == nil && again?.code == .activityUnknown)
                try await desk.stage.eventually("it is offered again") { activity.isCurrent }
                rounds += 1
            }
            // A round has a beginning and a return.
            #expect(rounds == Int(OutgoingContinuations.burst) / 2)
            try await desk.continue(offer)
            #expect(log.events.last == "continued" && !activity.isCurrent)
            await connection.close()
            await other.close()
        }
    }

    @Test func `requests of a system that are refused cost vouchers at a limited rate, and another one continues`()
        async throws
    {
        let vouchers = Mutex(0)
        try await DiscoveryStage.with { stage in
            let log = ContinuationTests.Log()
            // The stage numbers its systems from 1, in the order of their creation.
            func editor(_ number: Int) -> StagedApplication {
                var editor = StagedApplication("com.example.editor")
                editor.activities = .init(types: [ContinuationTests.editing], handler: log)
                let voucher = LinkedAccountTests.voucher(by: .own, number)
                editor.activities?.options.voucher = { audience, activity in
                    if number == 1 { vouchers.withLock { $0 += 1 } }
                    return await voucher(audience, activity)
                }
                return editor
            }
            let laptop = try stage.system("Laptop", applications: [editor(1)])
            let desktop = try stage.system("Desktop", applications: [editor(2)])
            for system in [laptop, desktop] { try await stage.appears(system) }
            let watcher = UserActivityWatcher(stage.configuration)
            try await watcher.start()
            let activity = UserActivity(type: ContinuationTests.editing)
            try await activity.becomeCurrent(at: laptop.activityHost())
            try await stage.eventually("the offer is listed") { !watcher.offers.isEmpty }
            let offer = try #require(watcher.offers.first)
            let connection = try await Self.connect(to: offer)
            let fetch = ContinuationRequest.fetch(activity: activity.id, voucher: nil)
            let burst = Int(OutgoingContinuations.burst)
            for number in 0..<(2 * burst) {
                let failure = try await Self.failure(of: fetch, over: connection)
                let expected: ContinuationError.Code = number < burst ? .publisherMismatch : .busy
                #expect(failure?.code == expected)
            }
            #expect(vouchers.withLock { $0 } == burst)
            try await desktop.activityHost().continue(offer)
            #expect(log.events.last == "continued" && !activity.isCurrent)
            await connection.close()
            await watcher.stop()
        }
    }

    @Test
    func `continuations without a confirmation are dropped at a limit after a minute, and confirmed ones are not`()
        throws
    {
        var continuations = OutgoingContinuations()
        let (activity, confirmed, now) = (UUID(), UUID(), ContinuousClock.now)
        let objects = (0..<3).map { _ in UserActivity(type: "a.b") }
        let links = objects.map { ObjectIdentifier($0) }
        let system = try #require(SystemID(bytes: Array(repeating: 1, count: 32)))
        let account = try #require(AccountID(bytes: Array(repeating: 2, count: 32)))
        let (holder, other) = (QuotaHolder.system(system), QuotaHolder.account(account))
        continuations.offer(activity)
        try continuations.begin(activity, id: confirmed, over: links[0], for: holder, now: now)
        #expect(try continuations.confirm(confirmed, over: links[0], by: system, now: now) == activity)
        continuations.offer(activity)
        for number in 1..<OutgoingContinuations.maxEach {
            let link = links[number / OutgoingContinuations.maxOnLink]
            try continuations.begin(activity, id: UUID(), over: link, for: holder, now: now)
        }
        #expect(throws: OutgoingContinuations.Refusal.tooMany) {
            try continuations.begin(activity, id: UUID(), over: links[2], for: holder, now: now + .seconds(59))
        }
        let ofOther = UUID()
        try continuations.begin(activity, id: ofOther, over: links[2], for: other, now: now)
        let later = now + OutgoingContinuations.unconfirmedTime
        try continuations.begin(activity, id: UUID(), over: links[2], for: holder, now: later)
        // Only those of the system that is at its limit: this one is as old.
        #expect(try continuations.confirm(ofOther, over: links[2], by: system, now: now) == activity)
        continuations.offer(activity)
        #expect(try continuations.activity(of: confirmed, over: links[0]) == activity)
        // One that could not send its content keeps no place.
        let failed = UUID()
        try continuations.begin(activity, id: failed, over: links[1], for: holder, now: later)
        continuations.fail(failed)
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try continuations.confirm(failed, over: links[1], by: system, now: now)
        }
        withExtendedLifetime(objects) {}
    }

    /// Reads each pair of streams to its end, then ends it, too.
    private final class Reader: UserActivityDelegate {
        func userActivity(
            _ activity: UserActivity,
            didReceive input: ContinuationInputStream,
            _ output: ContinuationOutputStream
        ) async {
            while (try? await input.read()) != nil {}
            try? await output.finish()
        }
    }

    @Test func `a system that opens streams without end leaves some to others, and gets more when its own have closed`()
        async throws
    {
        let handler = ClosureContinuationHandler { activity in
            let (input, output) = try await activity.continuationStreams()
            try await output.write([1])
            try await output.finish()
            while try await input.read() != nil {}
        }
        try await Desk.with(handler) { desk in
            let delegate = Reader()
            let activity = UserActivity(type: ContinuationTests.editing, supportsContinuationStreams: true)
            activity.delegate = delegate
            let connection = try await Self.connect(to: desk.offer(activity))
            func send(_ request: ContinuationRequest) async throws -> ValueSet {
                try await request.send(over: connection, timeout: .seconds(10))
            }
            let content = try await send(.fetch(activity: activity.id, voucher: nil))
            let continuation = try #require(content[ContinuationResponse.continuation]?.uuid)
            _ = try await send(.confirm(continuation: continuation))
            var streams: [RemoteSystemStream] = []
            func openStream() async throws -> RemoteSystemStream {
                let response = try await send(.stream(continuation: continuation))
                return try await connection.openStream(response[ContinuationResponse.ticket])
            }
            for _ in 0..<ActivityOrigin.maxStreamsEach { streams.append(try await openStream()) }
            let refused = try await Self.failure(of: .stream(continuation: continuation), over: connection)
            #expect(refused?.code == .streamFailed)

            // The handler fails without a stream.
            try await desk.continue(desk.offer(activity))

            streams.removeLast().abort("No longer needed.")
            try await desk.stage.eventually("there is a place again") {
                do {
                    streams.append(try await openStream())
                    return true
                } catch is ContinuationError {
                    return false
                }
            }
            for stream in streams { stream.abort("The test ends.") }
            await connection.close()
            withExtendedLifetime(delegate) {}
        }
    }

    @Test func `the page on security states the limits of continuations`() throws {
        typealias Limits = OutgoingContinuations
        let root = (1...3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "Docs/security-model.md"), encoding: .utf8)
        let places =
            "\(Limits.maxOnLink) on a connection, \(Limits.maxEach) of one system or linked account, "
            + "\(Limits.maxInAll) of an application"
        let time = "after \(Limits.unconfirmedTime.components.seconds) s, when another one begins at a limit"
        let dropped = "an unconfirmed one is dropped \(time)"
        #expect(page.contains("| continuations that have begun | \(places); \(dropped) |"))
        let rate = "\(Int(Limits.burst)) at once, then \(Int(Limits.rate)) a second"
        #expect(page.contains("| continuations that one system or linked account begins | \(rate) |"))
        let streams =
            "\(ActivityOrigin.maxStreamsEach) of one system or linked account, "
            + "\(ActivityOrigin.maxStreams) of an application"
        #expect(page.contains("| open streams of continuations | \(streams) |"))
    }
}
