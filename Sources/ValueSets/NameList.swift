// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Formats lists of names for messages.
package enum NameList {
    /// Joins the names in ascending order, without duplicates: `a`, `a and b`, or `a, b and c`. Shows at most eight
    /// names, then the number of the others.
    ///
    /// - Parameter none: The text for an empty list. Defaults to "none".
    package static func text(_ names: some Sequence<String>, none: String = "none") -> String {
        let sorted = Set(names).sorted()
        var shown = Array(sorted.prefix(8))
        if sorted.count > shown.count { shown.append("\(sorted.count - shown.count) more") }
        guard let last = shown.popLast() else { return none }
        return shown.isEmpty ? last : "\(shown.joined(separator: ", ")) and \(last)"
    }
}
