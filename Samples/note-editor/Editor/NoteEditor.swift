// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import UserActivities

/// An editor whose note the user can leave on one machine and continue on another, with the caret at the same place.
package actor NoteEditor: ContinuationHandler, UserActivityDelegate {
    package static let activityType = "org.example.note-editor.note"

    package private(set) var note = Note()
    /// Receives what the user sees, as a line of text.
    private let show: @Sendable (String) -> Void
    /// `nil` for the only host of the process.
    private var host: UserActivityHost?
    private var activity = UserActivity(type: NoteEditor.activityType)

    package init(show: @escaping @Sendable (String) -> Void = { _ in }) { self.show = show }

    /// Offers the note at this host from now on.
    package func use(_ host: UserActivityHost) { self.host = host }

    /// Changes the note, and offers it to the user's other machines if it is not offered yet.
    package func edit(_ change: @Sendable (inout Note) -> Void) async throws {
        change(&self.note)
        self.show("note: \(self.line)")
        self.activity.title = self.note.title
        self.activity.delegate = self
        // The content is written when another machine continues the note, and not at each key press.
        self.activity.needsSave = true
        if !self.activity.isCurrent { try await self.activity.becomeCurrent(at: self.host) }
    }

    // MARK: On the machine that the user leaves

    package func userActivityWillSave(_ activity: UserActivity) async { activity.userInfo = self.note.userInfo }

    package func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
        self.show("left: another machine has continued the note")
    }

    // MARK: On the machine where the user goes on

    package func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping ActivityRestoration
    ) async throws -> Bool {
        guard let note = Note(activity.userInfo) else { return false }
        self.note = note
        self.show("continued: \(self.line)")
        // From now on, the note can be continued from here in turn.
        self.activity = activity
        activity.delegate = self
        try await activity.adopt(at: self.host)
        return true
    }

    package func didFailToContinueUserActivity(type: String, error: ContinuationError) async {
        self.show("not continued: \(error.message)")
    }

    /// The note with `|` for the caret, in one line. Control characters, which a text from another machine may have, do
    /// not reach the terminal.
    private var line: String {
        "\(self.note.text.prefix(self.note.caret))|\(self.note.text.dropFirst(self.note.caret))".debugDescription
    }
}
