// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a test waited for did not happen.
public struct StageError: Error, Sendable, CustomStringConvertible {
    /// What was waited for, what happened instead, and what to look at.
    public let message: String

    init(_ message: String) {
        self.message = message
    }

    /// The message.
    public var description: String { self.message }
}
