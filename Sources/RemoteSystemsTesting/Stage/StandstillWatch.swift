// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsTransport
internal import Synchronization

/// Notices that a test waits for the stage's clock, which nobody but the test moves: nothing is left to do on the stage, the
/// test's body has not ended, and nothing happens for as long as the stage's patience lasts.
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

    /// Begins to watch.
    func start() {
        PatienceAlarm(TimeAmount(self.stage.patience), on: self.stage.clock.loop.base) { self.look() }.start()
    }

    /// Ends watching.
    ///
    /// - Returns: The error to fail with, if the test stood still.
    func stop() -> StageError? {
        self.state.withLock { state in
            state.isOver = true
            return state.error
        }
    }

    /// - Returns: whether to look again after the next part of the patience.
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
            "The test waits, and nothing has happened on the stage for \(self.stage.patience). What it waits for probably waits "
                + "for the stage's clock, which stands still until advance(by:). Due by that clock: \(due). Start what is "
                + "waited for with 'async let', advance the clock, and then await it; or give the stage more patience."
        )
        self.state.withLock { $0.error = error }
        // Also told at once: not everything that a test can wait for ends with the stage.
        Logger(label: "RemoteSystemsTesting").error("\(error)")
        self.stage.abandon()
        return false
    }
}
