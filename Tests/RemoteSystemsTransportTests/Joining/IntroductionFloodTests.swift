// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsTransport

/// Joins while strangers flood the port, by a simulated clock. The rates are those of connections that arrive, so the
/// results depend on no machine.
@Suite struct IntroductionFloodTests {
    /// The attack that once kept every machine from joining: connections that have sent a valid first message, and
    /// silent ones every two milliseconds.
    @Test(arguments: [1, 5, 63, 300])
    func `every first attempt succeeds while silent and greeted connections flood the port`(peers: Int) {
        // The joiner has a key of its own, and one of those that the attacker uses.
        for joiner in [FloodedPort.joiner, FloodedPort.stranger(0)] {
            var port = FloodedPort([
                Flood(500, of: .silent, peers: peers), Flood(90, of: .greeted, peers: min(peers, 5)),
            ])
            port.pass(seconds: 2)
            for _ in 1...20 { #expect(port.join(from: joiner) == 1) }
        }
    }

    @Test func `connections that send their first byte in time and no more do not keep a machine from joining`() {
        var port = FloodedPort([Flood(1000, of: .speaking, peers: 1)])
        port.pass(seconds: 2)
        // Four times as many as have a guaranteed place: an attempt in four succeeds.
        for _ in 1...3 { #expect(port.join(from: FloodedPort.stranger(0)) != nil) }
    }

    @Test func `an attacker with three peer keys does not reach a machine with another one, at any rate`() {
        var port = FloodedPort([
            Flood(2000, of: .silent, peers: 3), Flood(1000, of: .speaking, peers: 3),
            Flood(500, of: .greeted, peers: 3),
        ])
        port.pass(seconds: 1)
        // A slow machine, far beyond the guaranteed time.
        for _ in 1...3 { #expect(port.join(from: FloodedPort.joiner, slowness: 20) == 1) }
    }

    @Test func `a slow machine joins while strangers hold connections that have sent a valid first message`() {
        var port = FloodedPort([Flood(300, of: .silent, peers: 63), Flood(60, of: .greeted, peers: 5)])
        port.pass(seconds: 4)
        for _ in 1...3 { #expect(port.join(from: FloodedPort.joiner, slowness: 8) != nil) }
    }
}

/// Connections of strangers that arrive at random times.
private struct Flood {
    /// The connections in a second.
    let rate: Int
    /// How far each comes.
    let stage: UnauthenticatedSlots.Stage
    /// The number of peer keys.
    let peers: Int

    init(_ rate: Int, of stage: UnauthenticatedSlots.Stage, peers: Int) {
        (self.rate, self.stage, self.peers) = (rate, stage, peers)
    }
}

/// The slots of a port that strangers flood.
private struct FloodedPort {
    static let joiner = PeerKey(transport: .ip, [UInt8(1)])

    static func stranger(_ number: Int) -> PeerKey {
        PeerKey(transport: .ip, [UInt8(number / 256), UInt8(number % 256)])
    }

    /// The length of a step, in microseconds.
    private static let step = 100
    private static var stepsInMillisecond: Int { 1000 / Self.step }

    private let floods: [Flood]
    private let start = UnauthenticatedSlots.Instant.now
    private var slots = UnauthenticatedSlots()
    private var open: Set<UnauthenticatedSlots.ID> = []
    private var stages: [Int: [(UnauthenticatedSlots.ID, UnauthenticatedSlots.Stage)]] = [:]
    private var steps = 0
    private var random = SplitMix64(state: 7)

    init(_ floods: [Flood]) { self.floods = floods }

    mutating func pass(seconds: Int) { self.pass(milliseconds: 1000 * seconds) }

    private mutating func pass(milliseconds: Int) {
        for _ in 0..<(milliseconds * Self.stepsInMillisecond) { self.pass() }
    }

    private mutating func pass() {
        self.steps += 1
        for (id, stage) in self.stages.removeValue(forKey: self.steps) ?? [] { self.slots.advance(id, to: stage) }
        for flood in self.floods where Int.random(in: 0..<1_000_000, using: &self.random) < flood.rate * Self.step {
            let number = Int.random(in: 0..<flood.peers, using: &self.random)
            guard let id = self.enter(Self.stranger(number)) else { continue }
            if flood.stage >= .speaking { self.advance(id, to: .speaking, after: 2) }
            if flood.stage >= .greeted { self.advance(id, to: .greeted, after: 20) }
        }
    }

    private mutating func advance(_ id: UnauthenticatedSlots.ID, to stage: UnauthenticatedSlots.Stage, after time: Int)
    {
        self.stages[self.steps + time * Self.stepsInMillisecond, default: []].append((id, stage))
    }

    private mutating func enter(_ peer: PeerKey) -> UnauthenticatedSlots.ID? {
        switch self.slots.enter(peer, at: self.start + .microseconds(Self.step * self.steps)) {
        case .entered(let id):
            self.open.insert(id)
            return id
        case .replaced(let other, let id):
            self.open.remove(other)
            self.open.insert(id)
            return id
        case .refused:
            return nil
        }
    }

    /// Joins as a machine does that tries again.
    ///
    /// - Parameter slowness: a factor for its usual times, by which it joins after a tenth of a second.
    /// - Returns: the number of attempts; `nil` if none succeeded.
    mutating func join(from peer: PeerKey, slowness: Int = 1) -> Int? {
        let retries = IntroductionRetries()
        for attempt in 0...retries.count {
            if attempt > 0 { self.pass(milliseconds: Int(retries.pause(before: attempt) / .milliseconds(1))) }
            guard let id = self.enter(peer) else { continue }
            for (time, stage) in [(5, .speaking), (65, .greeted), (30, .proven)] as [(Int, UnauthenticatedSlots.Stage)]
            where self.open.contains(id) {
                self.pass(milliseconds: (stage == .speaking ? 1 : slowness) * time)
                if self.open.contains(id) { self.slots.advance(id, to: stage) }
            }
            guard self.open.contains(id) else { continue }
            self.slots.leave(id)
            self.open.remove(id)
            return attempt + 1
        }
        return nil
    }
}
