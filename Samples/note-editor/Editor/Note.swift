// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

/// A note: its text, and the caret in it.
package struct Note: Sendable, Equatable {
    package private(set) var text = ""
    /// The number of characters before the caret.
    package private(set) var caret = 0

    package init(text: String = "", caret: Int = 0) {
        self.text = text
        self.moveCaret(to: caret)
    }

    package mutating func insert(_ new: String) {
        let before = String(self.text.prefix(self.caret)) + new
        self = Note(text: before + self.text.dropFirst(self.caret), caret: before.count)
    }

    /// Moves the caret. A place outside the text counts as the nearest one in it.
    package mutating func moveCaret(to place: Int) { self.caret = min(max(place, 0), self.text.count) }

    // MARK: Hand-off

    /// Reads the content of an activity. `nil` if it has no text: it comes from another machine, perhaps from another
    /// version of the editor.
    package init?(_ userInfo: ValueSet) {
        guard let text = userInfo["Text"]?.string else { return nil }
        self.init(text: text, caret: userInfo["Caret"]?.int ?? 0)
    }

    package var userInfo: ValueSet { ["Text": .string(self.text), "Caret": .integer(Int64(self.caret))] }

    /// The title that other machines list before they continue the note.
    package var title: String { String(self.text.prefix(while: { !$0.isNewline }).prefix(40)) }
}
