// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A field of a ``NotificationCard`` that is not valid. Retrying does not help.
public struct NotificationCardError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A description of the problem, in full sentences.
    public var message: String
    /// The field, as a path of the keys in JSON.
    public var field: String

    init(_ message: String, field: String) { (self.message, self.field) = (message, field) }

    /// The field and the message.
    public var description: String { "\(self.field): \(self.message)" }

    func inside(_ path: String) -> NotificationCardError {
        NotificationCardError(self.message, field: self.field.isEmpty ? path : "\(path).\(self.field)")
    }
}

/// Checks of fields against their ranges.
enum CardCheck {
    static let (titleBytes, textBytes, identifierBytes) = (512, 4096, 128)

    static func text(_ text: String, _ field: String, max: Int) throws(NotificationCardError) {
        guard text.utf8.count <= max, !text.utf8.contains(0) else {
            throw NotificationCardError("The text may have \(max) bytes, and no null character.", field: field)
        }
    }

    static func identifier(_ text: String, _ field: String) throws(NotificationCardError) {
        guard (1...Self.identifierBytes).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw NotificationCardError("The identifier must have 1 to \(Self.identifierBytes) bytes.", field: field)
        }
    }

    static func number(_ number: Double, in range: ClosedRange<Double>, _ field: String) throws(NotificationCardError) {
        guard range.contains(number) else {
            throw NotificationCardError(
                "The number must be from \(range.lowerBound) to \(range.upperBound).",
                field: field
            )
        }
    }
}
