// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import Synchronization
import UserActivities

/// Reports how far a continuation is, if it takes long.
final class ContinuationNotes: Sendable {
    /// The time after which a continuation takes long, and the one between two notes.
    private static let patience = Duration.seconds(2)
    private static let interval = Duration.seconds(5)

    private let step = Mutex("waiting")

    /// Sets what is being done, such as `connecting`.
    func set(_ step: String) { self.step.withLock { $0 = step } }

    /// Runs `body`, and prints notes to standard error, or events with `--json`, while it takes long.
    static func during(
        _ offer: UserActivityOffer,
        _ output: Output,
        _ body: (ContinuationNotes) async throws -> Void
    ) async throws {
        let notes = ContinuationNotes()
        let began = ContinuousClock.now
        let printing = Task {
            try await Task.sleep(for: Self.patience)
            while true {
                let seconds = Int((ContinuousClock.now - began) / .seconds(1))
                let step = notes.step.withLock { $0 }
                try output.json(ProgressOutput(id: offer.shownID, step: step, seconds: seconds))
                let title = (offer.title ?? offer.activityType).quoted
                output.note("Continuing \(title): \(step), \(seconds) s".printable)
                try await Task.sleep(for: Self.interval)
            }
        }
        defer { printing.cancel() }
        try await body(notes)
    }
}

private struct ProgressOutput: Encodable {
    let event = "progress"
    let time = Date.now
    var id: String
    /// `waiting` for an application, or the step of this command.
    var step: String
    var seconds: Int
}
