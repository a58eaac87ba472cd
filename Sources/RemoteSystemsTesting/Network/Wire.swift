// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// A connection in memory: two channels and the bytes in flight between them.
final class Wire: Sendable {
    /// An end of the connection: the one that connected, or the one that accepted.
    enum Side: Hashable, Sendable {
        case caller, host

        var other: Side { self == .caller ? .host : .caller }
    }

    private struct State {
        var lanes: [Side: Lane] = [.caller: Lane(), .host: Lane()]
        var channels: [Side: MemoryChannel]
        /// The lanes that already have a scheduled pump.
        var pumping: Set<Side> = []
    }

    private let sites: [Side: MemorySite]
    private let loop: StageEventLoop
    private let state: Mutex<State>

    init(caller: (MemorySite, MemoryChannel), host: (MemorySite, MemoryChannel), loop: StageEventLoop) {
        self.sites = [.caller: caller.0, .host: host.0]
        self.loop = loop
        self.state = Mutex(State(channels: [.caller: caller.1, .host: host.1]))
    }

    func bytesInFlight(from side: Side) -> Int {
        self.state.withLock { $0.lanes[side]?.bytes ?? 0 }
    }

    func send(_ piece: Lane.Piece, from side: Side) {
        let now = self.loop.scheduler.elapsed
        self.state.withLock { $0.lanes[side]?.send(piece, now: now) }
        self.pumpSoon(side)
    }

    /// Pumps both lanes after the conditions of a link have changed.
    func conditionsChanged() {
        self.pumpSoon(.caller)
        self.pumpSoon(.host)
    }

    /// Pumps the lane to this side after its channel has requested bytes.
    func readWanted(by side: Side) {
        self.pumpSoon(side.other)
    }

    /// Breaks the connection at both ends, whatever the conditions are.
    func cut() {
        self.loop.execute {
            for side in [Side.caller, .host] { self.take(side)?.receive(.reset) }
        }
    }

    private func take(_ side: Side) -> MemoryChannel? {
        let (channel, isOver) = self.state.withLock { state in
            let channel = state.channels.removeValue(forKey: side)
            return (channel, state.channels.isEmpty)
        }
        // Until then the link's conditions apply, and the end of the stage ends the connection.
        if isOver { for site in self.sites.values { site.forget(self) } }
        return channel
    }

    /// Schedules a pump for later, because the sender may be inside its receive call.
    private func pumpSoon(_ side: Side) {
        guard self.state.withLock({ $0.pumping.insert(side).inserted }) else { return }
        self.loop.execute { self.pump(side) }
    }

    private func pump(_ side: Side) {
        self.state.withLock { _ = $0.pumping.remove(side) }
        guard let from = self.sites[side], let to = self.sites[side.other] else { return }
        let conditions = from.conditions.joined(with: to.conditions)
        let now = self.loop.scheduler.elapsed
        let (isDataNext, receiver) = self.state.withLock {
            ($0.lanes[side]?.isDataNext ?? false, $0.channels[side.other])
        }
        if isDataNext, let receiver, !receiver.wantsRead { return }
        switch self.state.withLock({ $0.lanes[side]?.pump(now: now, conditions) }) {
        case .nothing, nil: break
        case .wait(let until):
            // A change of the conditions may cause an earlier pump.
            self.loop.scheduleTask(in: TimeAmount(until - now), what: "bytes that arrive over a link") {
                self.pumpSoon(side)
            }
        case .deliver(.bytes(var bytes)):
            let passed = from.pass(&bytes, .fromSystem) ?? to.pass(&bytes, .toSystem)
            if let count = passed {
                if let part = bytes.readSlice(length: count), count > 0 { self.deliver(.bytes(part), from: side) }
                return self.cut()
            }
            self.deliver(.bytes(bytes), from: side)
            self.pumpSoon(side)
        case .deliver(let piece):
            self.deliver(piece, from: side)
        }
    }

    private func deliver(_ piece: Lane.Piece, from side: Side) {
        let (sender, receiver) = self.state.withLock { ($0.channels[side], $0.channels[side.other]) }
        receiver?.receive(piece)
        sender?.updateWritability()
        if case .bytes = piece { return }
        _ = self.take(side.other)
    }
}
