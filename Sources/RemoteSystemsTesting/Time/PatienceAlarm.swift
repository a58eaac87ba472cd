// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Says, part by part, how long a test has been waiting in real time.
///
/// A part in which Swift's thread pool was too busy to run anything else is no waiting: other tests or programs had the
/// processor, and what is waited for may be waiting for its turn. Where the whole process gets no processor time, this
/// gets none either, since each part is timed by itself.
final class PatienceAlarm: Sendable {
    /// How many parts make the patience.
    static let parts = 10

    private struct State {
        var poolHasRoom = false
        var isCancelled = false
    }

    private let interval: TimeAmount
    private let loop: any EventLoop
    private let onPart: @Sendable () -> Bool
    private let state = Mutex(State())

    /// - Parameters:
    ///   - onPart: called after each part that counts; returns whether there is to be another one.
    init(_ patience: TimeAmount, on loop: any EventLoop, onPart: @escaping @Sendable () -> Bool) {
        self.interval = .nanoseconds(max(patience.nanoseconds / Int64(Self.parts), 1))
        self.loop = loop
        self.onPart = onPart
    }

    func start() {
        self.state.withLock { $0.poolHasRoom = false }
        Task.detached { self.state.withLock { $0.poolHasRoom = true } }
        self.loop.scheduleTask(in: self.interval) { self.partPassed() }
    }

    func cancel() {
        self.state.withLock { $0.isCancelled = true }
    }

    private func partPassed() {
        let (isCancelled, counts) = self.state.withLock { ($0.isCancelled, $0.poolHasRoom) }
        guard !isCancelled, !counts || self.onPart() else { return }
        self.start()
    }
}
