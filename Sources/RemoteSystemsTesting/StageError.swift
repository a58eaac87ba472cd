// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// What a test waited for did not happen, or what it asked for is not possible.
public struct StageError: Error, Sendable, CustomStringConvertible {
    /// What was waited for, what happened instead, and what to look at.
    public let message: String

    init(_ message: String) {
        self.message = message
    }

    /// The message.
    public var description: String { self.message }
}

extension StageError {
    /// Holds a number to its range, as the API under test does.
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
    /// How far a stage's clock can be moved at a time.
    static var stageTimes: ClosedRange { .zero ... .seconds(10 * 365 * 24 * 3600) }
}
