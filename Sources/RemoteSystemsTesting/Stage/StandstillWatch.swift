// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsTransport
internal import Synchronization

/// Detects that a test waits for the stage's clock, which only the test moves. The test stands still if nothing is left
/// to do on the stage, the body has not ended, and nothing has happened for the time ``DiscoveryStage/patience``.
final class StandstillWatch: Sendable {
    private struct State {
        var idleSince: UInt64?
        var passed = 0
        var error: StageError?
        var isOver = false
    }

    private let stage: DiscoveryStage
    private let state = Mutex(State())

    init(_ stage: DiscoveryStage) { self.stage = stage }

    func start() {
        PatienceAlarm(TimeAmount(self.stage.patience), on: self.stage.clock.loop.base) { self.look() }.start()
    }

    /// Stops watching.
    ///
    /// - Returns: The error to fail with, if the test stood still.
    func stop() -> StageError? {
        self.state.withLock { state in
            state.isOver = true
            return state.error
        }
    }

    /// Checks whether the test stands still, and if so ends it with an error.
    ///
    /// - Returns: Whether to look again after the next part of the patience.
    private func look() -> Bool {
        let idleSince = self.stage.clock.scheduler.idleSince
        let stoodStill = self.state.withLock { state -> Bool? in
            guard !state.isOver else { return nil }
            state.passed = idleSince != nil && idleSince == state.idleSince ? state.passed + 1 : 0
            state.idleSince = idleSince
            return state.passed >= PatienceAlarm.parts
        }
        guard let stoodStill else { return false }
        guard stoodStill, let due = self.stage.clock.scheduler.due else { return true }
        let error = StageError(
            "The test stands still: nothing has happened on the stage for \(self.stage.patience). The test probably "
                + "awaits something that needs the stage's clock, which moves only by advance(by:). Due by that "
                + "clock: \(due). Start the awaited call with 'async let', advance the clock, and then await it; "
                + "or increase the stage's patience."
        )
        self.state.withLock { $0.error = error }
        // The error is also logged at once, because not everything that a test can await ends with the stage.
        Logger(label: "RemoteSystemsTesting").error("\(error)")
        self.stage.abandon()
        return false
    }
}
