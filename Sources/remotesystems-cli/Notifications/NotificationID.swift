// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

/// The id of a notification as the user enters it: whole, or its beginning.
enum NotificationID {
    /// The minimum number of characters of a beginning.
    static let minimum = 4

    /// What to do if no id is meant; nothing for a text that is long enough.
    static func hint(for text: String) -> String {
        text.count < Self.minimum ? " The beginning of an id has at least four characters." : ""
    }

    /// The id that a text means: itself, or the only one that begins with it.
    ///
    /// - Parameter what: what the ids are of, as the error of an ambiguous beginning names it.
    static func find(_ text: String, among ids: [String], _ what: String) throws(Failure) -> String? {
        guard !ids.contains(text), text.count >= Self.minimum else { return ids.first { $0 == text } }
        let matches = ids.filter { $0.hasPrefix(text) }
        guard matches.count <= 1 else {
            var failure = Failure(
                "misuse",
                "\(matches.count) \(what) begin with '\(text)'. Name one of them: \(NameList.text(matches))."
            )
            failure.reason = "ambiguousName"
            throw failure
        }
        return matches.first
    }
}
