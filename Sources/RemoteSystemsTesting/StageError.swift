// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// An event or a condition did not occur in time, or the test requested a step that is not possible.
public struct StageError: Error, Sendable, CustomStringConvertible {
    /// The description of what was expected, what happened instead, and what to check.
    public let message: String

    init(_ message: String) {
        self.message = message
    }

    /// The ``message``.
    public var description: String { self.message }
}

extension StageError {
    /// Checks that a value is in its range, as the API under test does.
    static func check<Value: ArgumentCheck.Ranged>(
        _ name: StaticString,
        _ value: Value,
        in range: ClosedRange<Value>
    ) throws(StageError) {
        do throws(RemoteSystemError) {
            try ArgumentCheck.check(name, value, in: range)
        } catch {
            throw StageError(error.message)
        }
    }
}

extension ClosedRange where Bound == Duration {
    /// The valid durations for moving a stage's clock: 0–10 years.
    static var stageTimes: ClosedRange { .zero ... .seconds(10 * 365 * 24 * 3600) }
}
