// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// Checks of single fields. Each error names the field and not its value.
enum FieldCheck {
    static func text(_ text: String, _ field: String, max: Int) throws(NotificationError) {
        guard text.utf8.count <= max else {
            throw NotificationError(
                .limitExceeded,
                "The text has \(text.utf8.count) bytes; the maximum is \(max).",
                field: field
            )
        }
    }

    static func identifier(_ text: String, _ field: String) throws(NotificationError) {
        guard !text.isEmpty else {
            throw NotificationError(.invalidContent, "The identifier is empty.", field: field)
        }
        try self.text(text, field, max: NotificationLimits.identifierBytes)
        guard !text.hasControlCharacters else {
            throw NotificationError(.invalidContent, "The identifier has control characters.", field: field)
        }
    }

    static func count(_ count: Int, _ field: String, max: Int) throws(NotificationError) {
        guard count <= max else {
            throw NotificationError(.limitExceeded, "There are \(count) entries; the maximum is \(max).", field: field)
        }
    }

    /// - Parameter depth: the maximum nesting depth. Defaults to that of every value set.
    static func size(
        of set: ValueSet,
        _ field: String,
        max: Int,
        depth: Int = ValueSetLimits.defaults.depth
    ) throws(NotificationError) {
        guard !set.isEmpty else { return }
        var limits = ValueSetLimits.defaults
        limits.bytes = max
        limits.depth = depth
        do throws(ValueSetError) {
            _ = try set.encodedSize(limits: limits)
        } catch {
            guard error.code == .limitExceeded else {
                throw NotificationError(.invalidContent, "\(error)", field: field)
            }
            throw NotificationError(
                .limitExceeded,
                "The value is larger than \(max) bytes, or nested too deeply. \(error)",
                field: field
            )
        }
    }
}
