// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Names in a sentence.
package enum NameList {
    /// The names in ascending order, each once: `a`, `a and b`, or `a, b and c`; of many the first eight and how many more there
    /// are.
    ///
    /// - Parameter none: What stands there when there is no name.
    package static func text(_ names: some Sequence<String>, none: String = "none") -> String {
        let sorted = Set(names).sorted()
        var shown = Array(sorted.prefix(8))
        if sorted.count > shown.count { shown.append("\(sorted.count - shown.count) more") }
        guard let last = shown.popLast() else { return none }
        return shown.isEmpty ? last : "\(shown.joined(separator: ", ")) and \(last)"
    }
}
