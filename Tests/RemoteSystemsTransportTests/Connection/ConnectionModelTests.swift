// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// Two state machines exchange messages over two in-memory pipes, with events in random order, and a list of invariants
/// is checked.
///
/// The invariants: no peer ever sees a violation; the window is kept; requests start in the order they were sent; every
/// call ends exactly once; a graceful close ends both sides and loses nothing.
@Suite struct ConnectionModelTests {
    @Test(arguments: 1...50) func `two state machines keep every invariant for any order of events`(seed: Int) throws {
        var random = SplitMix64(state: UInt64(seed))
        var world = World(random: &random)
        for _ in 0..<200 { try world.step(&random) }
        try world.finish(&random)
        for side in 0..<2 {
            #expect(world.sides[side].ended == Set(world.sides[side].submitted))
            #expect(world.sides[side].isFinished)
            let skipped = world.sides[side].skipped
            #expect(world.sides[side].started == world.sides[1 - side].sentInOrder.filter { !skipped.contains($0) })
        }
    }
}

private struct World {
    enum Packet {
        case request(UInt64, bytes: Int)
        case response(UInt64)
        case cancel(UInt64)
        case close(CloseStatus)
    }

    final class Side {
        var machine: ConnectionStateMachine<UInt64, UInt64>
        var limits: ConnectionLimits
        /// Packets on their way to this side.
        var inbox: [Packet] = []
        var sizes: [UInt64: Int] = [:]
        var held: UInt64?
        var submitted: [UInt64] = []
        var sentInOrder: [UInt64] = []
        var ended: Set<UInt64> = []
        var outstanding: Set<UInt64> = []
        var running: [UInt64] = []
        var started: [UInt64] = []
        /// Cancelled before they were started.
        var skipped: Set<UInt64> = []
        var isFinished = false

        init(machine: consuming ConnectionStateMachine<UInt64, UInt64>, limits: ConnectionLimits) {
            self.machine = machine
            self.limits = limits
        }
    }

    struct Broken: Error { var what: String }

    var sides: [Side]

    init(random: inout SplitMix64) {
        var limits: [ConnectionLimits] = []
        for _ in 0..<2 {
            var one = ConnectionLimits(messageBytes: 1024)
            one.window = Int.random(in: 1...6, using: &random)
            one.windowBytes = Int.random(in: 1024...4096, using: &random)
            one.concurrentRequests = Int.random(in: 1...6, using: &random)
            limits.append(one)
        }
        self.sides = (0..<2).map {
            Side(
                machine: .init(limits: limits[$0], peer: limits[1 - $0].peerLimits, now: .at(0)),
                limits: limits[$0]
            )
        }
    }

    mutating func step(_ random: inout SplitMix64) throws {
        let side = Int.random(in: 0...1, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0...2: try self.submit(side, bytes: Int.random(in: 1...1024, using: &random))
        case 3...5: try self.deliver(side)
        case 6...7:
            if let id = self.sides[side].running.randomElement(using: &random) { try self.response(side, id) }
        case 8:
            if let id = self.sides[side].submitted.randomElement(using: &random) { try self.cancel(side, id) }
        default:
            self.sides[side].machine.writabilityChanged(Bool.random(using: &random))
            try self.settle(side)
        }
    }

    /// Closes both sides, and then performs everything that is in progress.
    mutating func finish(_ random: inout SplitMix64) throws {
        for side in 0..<2 {
            self.sides[side].machine.writabilityChanged(true)
            try self.settle(side)
        }
        self.sides[Int.random(in: 0...1, using: &random)].machine.close(.completed, until: .distantFuture)
        for side in 0..<2 { try self.settle(side) }
        for _ in 0..<100_000 where !self.sides.allSatisfy(\.isFinished) {
            let side = Int.random(in: 0...1, using: &random)
            if Bool.random(using: &random) {
                try self.deliver(side)
            } else if let id = self.sides[side].running.randomElement(using: &random) {
                try self.response(side, id)
            }
        }
    }

    private mutating func submit(_ side: Int, bytes: Int) throws {
        let id = self.sides[side].machine.reserveID()
        self.sides[side].submitted.append(id)
        self.sides[side].sizes[id] = bytes
        switch self.sides[side].machine.submit(id: id, id, deadline: .distantFuture) {
        case .encode: try self.transmit(side, id)
        case .wait: break
        case .reject, .overflow: try self.end(side, id)
        }
    }

    private mutating func transmit(_ side: Int, _ id: UInt64) throws {
        if self.sides[side].machine.encoded(id: id, bytes: self.sides[side].sizes[id] ?? 0) {
            try self.put(side, id)
        } else {
            guard self.sides[side].held == nil else { throw Broken(what: "two frames are held") }
            self.sides[side].held = id
        }
    }

    private mutating func put(_ side: Int, _ id: UInt64) throws {
        let peer = self.sides[1 - side].limits
        self.sides[side].outstanding.insert(id)
        self.sides[side].sentInOrder.append(id)
        let bytes = self.sides[side].outstanding.reduce(0) { $0 + (self.sides[side].sizes[$1] ?? 0) }
        guard self.sides[side].outstanding.count <= peer.window,
            self.sides[side].outstanding.count == 1 || bytes <= peer.windowBytes
        else { throw Broken(what: "the window is not kept") }
        self.sides[1 - side].inbox.append(.request(id, bytes: self.sides[side].sizes[id] ?? 0))
    }

    private mutating func end(_ side: Int, _ id: UInt64) throws {
        guard self.sides[side].ended.insert(id).inserted else { throw Broken(what: "call \(id) ended twice") }
    }

    private mutating func cancel(_ side: Int, _ id: UInt64) throws {
        switch self.sides[side].machine.cancel(id: id) {
        case .sendCancel(let call):
            self.sides[1 - side].inbox.append(.cancel(call))
            try self.end(side, call)
        case .drop(let call):
            if self.sides[side].held == call { self.sides[side].held = nil }
            try self.end(side, call)
        case .nothing: break
        }
        try self.settle(side)
    }

    private mutating func response(_ side: Int, _ id: UInt64) throws {
        self.sides[side].running.removeAll { $0 == id }
        guard self.sides[side].machine.handlerFinished(id: id) else { throw Broken(what: "an answer is not wanted") }
        self.sides[1 - side].inbox.append(.response(id))
        try self.settle(side)
    }

    private mutating func deliver(_ side: Int) throws {
        guard !self.sides[side].inbox.isEmpty else { return }
        switch self.sides[side].inbox.removeFirst() {
        case .request(let id, let bytes):
            let outcome = self.sides[side].machine.receivedRequest(
                id: id,
                bytes: bytes,
                deadline: .distantFuture,
                request: id
            )
            switch outcome {
            case .dispatch(let id): self.start(side, id)
            case .queued: break
            case .violation(let what, _), .excess(let what, _): throw Broken(what: what)
            }
        case .response(let id):
            self.sides[side].outstanding.remove(id)
            switch self.sides[side].machine.receivedResponse(id: id) {
            case .complete(let call): try self.end(side, call)
            case .ignore: break
            case .violation(let what): throw Broken(what: what)
            }
        case .cancel(let id):
            switch self.sides[side].machine.receivedCancel(id: id) {
            case .responseCancelled: self.skip(side, id)
            case .cancelHandler, .nothing: break
            }
        case .close(let status):
            for call in self.sides[side].machine.receivedClose(status, until: .distantFuture) {
                try self.end(side, call)
            }
        }
        try self.settle(side)
    }

    private mutating func start(_ side: Int, _ id: UInt64) {
        self.sides[side].started.append(id)
        self.sides[side].running.append(id)
    }

    private mutating func skip(_ side: Int, _ id: UInt64) {
        self.sides[side].skipped.insert(id)
        self.sides[1 - side].inbox.append(.response(id))
    }

    private mutating func settle(_ side: Int) throws {
        while true {
            switch self.sides[side].machine.nextStep() {
            case .nothing: return
            case .encode(let id, _): try self.transmit(side, id)
            case .writeHeld:
                guard let id = self.sides[side].held else { throw Broken(what: "nothing is held") }
                self.sides[side].held = nil
                try self.put(side, id)
            case .dispatch(let id, _): self.start(side, id)
            case .respondCancelled(let id): self.skip(side, id)
            case .sendClose(let status): self.sides[1 - side].inbox.append(.close(status))
            case .finish: self.sides[side].isFinished = true
            }
        }
    }
}

/// Yields the same numbers for the same seed, on every machine.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
