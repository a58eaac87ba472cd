// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// A connection in memory: two channels and what is under way between them.
final class Wire: Sendable {
    /// Whose end: the one that connected, or the one that was connected to.
    enum Side: Hashable, Sendable {
        case caller, host

        var other: Side { self == .caller ? .host : .caller }
    }

    private struct State {
        var lanes: [Side: Lane] = [.caller: Lane(), .host: Lane()]
        var channels: [Side: MemoryChannel]
        /// Lanes that are looked at again anyhow.
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

    /// The conditions have changed.
    func conditionsChanged() {
        self.pumpSoon(.caller)
        self.pumpSoon(.host)
    }

    /// The channel of this side reads again.
    func readWanted(by side: Side) {
        self.pumpSoon(side.other)
    }

    /// Breaks it for both ends, whatever stands between them.
    func cut() {
        self.loop.execute {
            for side in [Side.caller, .host] { self.take(side)?.receive(.reset) }
        }
    }

    private func take(_ side: Side) -> MemoryChannel? {
        for site in self.sites.values { site.forget(self) }
        return self.state.withLock { $0.channels.removeValue(forKey: side) }
    }

    /// Not at once: whoever sends may be in the middle of receiving.
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
            // It may be looked at before that, should the conditions change.
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
