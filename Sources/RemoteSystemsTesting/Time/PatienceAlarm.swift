// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Measures how long a test has been waiting in real time, in equal parts.
///
/// A part counts only if Swift's thread pool ran another task during it. Otherwise other tests or programs used the
/// processor, and the awaited work may still be queued. If the whole process gets no processor time, the alarm gets
/// none either, because each part is timed separately.
final class PatienceAlarm: Sendable {
    /// The number of parts in the patience.
    static let parts = 10

    private struct State {
        var poolHasRoom = false
        var isCancelled = false
    }

    private let interval: TimeAmount
    private let loop: any EventLoop
    private let onPart: @Sendable () -> Bool
    private let state = Mutex(State())

    /// Creates an alarm that divides the patience into ``parts``.
    ///
    /// - Parameters:
    ///   - onPart: Called after each part that counts. Returns whether to continue with another part.
    init(_ patience: TimeAmount, on loop: any EventLoop, onPart: @escaping @Sendable () -> Bool) {
        self.interval = .nanoseconds(max(patience.nanoseconds / Int64(Self.parts), 1))
        self.loop = loop
        self.onPart = onPart
    }

    func start() {
        // On the loop itself: a task that a stage starts may stay on the stage.
        self.loop.execute { self.begin() }
    }

    private func begin() {
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
        self.begin()
    }
}
