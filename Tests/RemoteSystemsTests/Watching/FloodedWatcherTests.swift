// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsDiscovery
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// Attacks on a watcher by systems of its own account, and by programs that know the account's tags: real TLS over
/// loopback (issue 10 §1.1 to §1.3).
@Suite(.serialized, .timeLimit(.minutes(2))) struct FloodedWatcherTests {
    /// The time from the start of a host to its `added` event, at a running watcher.
    private static func timeToAdd(
        _ number: Int,
        on segment: MemberSegment,
        at recorder: EventRecorder
    ) async throws -> Duration {
        let start = ContinuousClock.now
        var end = start
        try await segment.withHost(number) {
            _ = try await recorder.first { event -> RemoteSystem? in
                guard case .added(let system) = event, system.displayName == "system \(number)" else { return nil }
                return system
            }
            end = .now
        }
        return end - start
    }

    private static func watching(
        _ segment: MemberSegment,
        _ body: (EventRecorder) async throws -> Void
    ) async throws {
        let watcher = RemoteSystemWatcher(try segment.configuration(1, application: "test.watcher"))
        let recorder = EventRecorder(watcher)
        try await watcher.start()
        do { try await body(recorder) } catch {
            await watcher.stop()
            throw error
        }
        await watcher.stop()
    }

    @Test func `a member cannot make a watcher connect to an address of its choice`() async throws {
        let segment = MemberSegment()
        let victim = try await CountingPort()
        let member = try await HostileMember(2)
        try member.describe(name: "hostile")
        try segment.announce("hostile", port: member.port)
        try await Self.watching(segment) { recorder in
            _ = try await recorder.added()
            // It re-announces itself at the victim's address, and names new programs all the time.
            try segment.announce("hostile", port: victim.port)
            for round in 0..<100 {
                try member.describe(name: "hostile", running: (0..<256).map { "x\(round).\($0)" })
                try await Task.sleep(for: .milliseconds(40))
            }
            print("MEASURED connections to the victim: \(victim.connections), to the member: \(member.connections)")
            #expect(victim.connections <= 4)
            #expect(member.connections <= 400)
            let time = try await Self.timeToAdd(3, on: segment, at: recorder)
            print("MEASURED time to add a host beside the member: \(time)")
        }
        await member.stop()
        await victim.stop()
    }

    /// Members with descriptions of hundreds of kilobytes. During an attack, they change them four times a second.
    private struct Spammers {
        let members: [HostileMember]

        init(_ numbers: Range<Int>, on segment: MemberSegment) async throws {
            var members: [HostileMember] = []
            for number in numbers {
                let member = try await HostileMember(number)
                try member.describe(name: "hostile \(number)", attributeBytes: 700_000)
                try segment.announce("hostile \(number)", port: member.port)
                members.append(member)
            }
            self.members = members
        }

        /// Runs `body` during the attack, once it has reached its fourth round.
        func attack(_ phase: Int, _ body: () async throws -> Void) async throws {
            let rounds = Rounds()
            let spam = Task { [members] in
                for round in 1... {
                    for (index, member) in members.enumerated() {
                        try member.describe(
                            name: "hostile \(index) in round \(phase).\(round)",
                            running: (0..<256).map { "x\(phase).\(round).\($0)" },
                            attributeBytes: 400_000,
                            round: round
                        )
                    }
                    rounds.count.withLock { $0 = round }
                    try await Task.sleep(for: .milliseconds(250))
                }
            }
            defer { spam.cancel() }
            try await until { rounds.count.withLock { $0 } >= 4 }
            try await body()
            spam.cancel()
            _ = await spam.result
        }

        private final class Rounds: Sendable {
            let count = Mutex(0)
        }

        /// Ends the attack, and waits until the watcher has nothing of it left to do.
        func rest(_ phase: Int, _ recorder: EventRecorder) async throws {
            for (index, member) in self.members.enumerated() {
                try member.describe(name: "resting \(index) after \(phase)")
            }
            for index in self.members.indices {
                _ = try await recorder.first { event -> RemoteSystem? in
                    switch event {
                    case .added(let system), .updated(let system):
                        return system.displayName == "resting \(index) after \(phase)" ? system : nil
                    default:
                        return nil
                    }
                }
            }
        }

        func stop() async {
            for member in self.members { await member.stop() }
        }
    }

    @Test func `members with large descriptions that change all the time do not delay another host`() async throws {
        let segment = MemberSegment()
        try await Self.watching(segment) { recorder in
            let spammers = try await Spammers(20..<24, on: segment)
            try await spammers.rest(0, recorder)
            // The usual time is measured before and after each attack, so that other work of the machine slows both.
            var usual = [try await Self.timeToAdd(10, on: segment, at: recorder)]
            var attacked: [Duration] = []
            for phase in 1...5 {
                try await spammers.attack(phase) {
                    attacked.append(try await Self.timeToAdd(30 + phase, on: segment, at: recorder))
                }
                try await spammers.rest(phase, recorder)
                usual.append(try await Self.timeToAdd(10 + phase, on: segment, at: recorder))
            }
            print("MEASURED time to add a host: \(usual), under the attack: \(attacked)")
            // A hundredth of a second is usual on an idle machine, which is too short to compare with.
            let factors = zip(attacked, zip(usual, usual.dropFirst()))
                .map { $0 / max($1.0, $1.1, .milliseconds(50)) }.sorted()
            print("MEASURED factors: \(factors)")
            // The factor was 37 before descriptions had limits. A part of it is the members' own use of the processors.
            // The goal of 2 is held by the benchmark `attacks`, and the turns that it depends on by DescriptionBudget's
            // own tests.
            #expect(factors[factors.count / 2] < 10)
            await spammers.stop()
        }
    }

    @Test func `forged announcements do not hide a host, and lead to few connections`() async throws {
        let segment = MemberSegment()
        // The victim has many addresses of loopback.
        var victim: [CountingPort] = []
        for number in 2...201 { victim.append(try await CountingPort(host: "127.0.0.\(number)")) }
        let (ports, burst) = (victim, Int(AttemptQueue.burst))
        func connections() -> Int { ports.reduce(0) { $0 + $1.connections } }
        try await Self.watching(segment) { recorder in
            let control = try await Self.timeToAdd(30, on: segment, at: recorder)
            let start = ContinuousClock.now
            let flood = Task {
                for number in 0..<20_000 {
                    let port = ports[number % ports.count]
                    // Each name moves to another address again and again. With new names only, the browse would be full
                    // before the host starts, if the machine is busy.
                    let name = "forged \(number % (DiscoveryLimits.hints / 2))"
                    try segment.announce(name, port: port.port, address: port.address)
                    if number.isMultiple(of: 10) { try await Task.sleep(for: .milliseconds(10)) }
                }
            }
            defer { flood.cancel() }
            // From then on, each further connection waits for its token.
            try await until { connections() >= burst }
            // Without the limits, the host was not found within 44 s. The recorder waits for thirty.
            let attacked = try await Self.timeToAdd(31, on: segment, at: recorder)
            try await until { connections() >= burst + Int(AttemptQueue.rate) }
            let count = connections()
            let seconds = (ContinuousClock.now - start) / Duration.seconds(1)
            print("MEASURED time to add a host: \(control), under the flood: \(attacked)")
            print("MEASURED connections to the victim: \(count) in \(seconds) s")
            // A busy machine makes fewer, never more.
            #expect(Double(count) <= AttemptQueue.burst + AttemptQueue.rate * seconds + 1)
            flood.cancel()
            _ = await flood.result
        }
        for port in victim { await port.stop() }
    }

    @Test func `an announced address beyond the link leads to no connection`() async throws {
        let segment = MemberSegment()
        try await Self.watching(segment) { recorder in
            // No interface has an address of these blocks (RFC 1112, RFC 3849). A name is not resolved either.
            for (number, address) in ["240.0.0.1", "2001:db8::1", "localhost", "0.0.0.0", "224.0.0.1"].enumerated() {
                try segment.announce("far \(number)", port: 4000, address: address)
            }
            _ = try await Self.timeToAdd(40, on: segment, at: recorder)
            #expect(!recorder.events.contains { if case .error = $0 { true } else { false } })
        }
        let watcher = RemoteSystemWatcher(try segment.configuration(1, application: "test.watcher"))
        let recorder = EventRecorder(watcher)
        try await watcher.start()
        _ = try await recorder.first { if case .enumerationCompleted = $0 { true } else { nil } }
        let unlisted = await watcher.unlisted
        #expect(unlisted.unreachable.isEmpty)
        await watcher.stop()
    }
}
