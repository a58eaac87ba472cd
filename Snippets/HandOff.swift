// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Synchronization
import UserActivities

/// A note that is open in an editor.
final class Note: UserActivityDelegate {
    let id: String
    let caret = Mutex(0)

    init(id: String) { self.id = id }

    // The content is written when another system continues the activity, not at each key press.
    // snippet.save
    func userActivityWillSave(_ activity: UserActivity) async {
        activity.addUserInfoEntries(["Note": .string(self.id), "Caret": .integer(Int64(self.caret.withLock { $0 }))])
    }

    func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
        print("Continued on \(receiver.systemID.short).")
    }
    // snippet.end
}

// Offering what the user is doing now.
// snippet.offer
func offer(_ note: Note, titled title: String, at host: UserActivityHost) async throws -> UserActivity {
    let activity = UserActivity(type: "com.example.editing", title: title)
    activity.delegate = note
    activity.needsSave = true
    try await activity.becomeCurrent(at: host)
    return activity
}
// snippet.end

// Continuing what the user was doing elsewhere.
// snippet.continue
struct NoteContinuation: ContinuationHandler {
    let open: @Sendable (_ note: String, _ caret: Int) async throws -> Void

    func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping ActivityRestoration
    ) async throws -> Bool {
        // The content comes from another machine: check it.
        guard let note = activity.userInfo["Note"]?.string else { return false }
        try await self.open(note, activity.userInfo["Caret"]?.int ?? 0)
        try await activity.adopt()
        return true
    }

    func didFailToContinueUserActivity(type: String, error: ContinuationError) async {
        print("The note was not continued: \(error.message)")
    }
}
// snippet.end

// Listing what other systems offer.
// snippet.list
func list(_ configuration: RemoteSystemsConfiguration) async throws {
    let watcher = UserActivityWatcher(configuration)
    try await watcher.start()
    for await offers in watcher.changes {
        for offer in offers { print("\(offer.title ?? offer.activityType) on \(offer.system.displayName)") }
    }
}
// snippet.end

// Data that is too large for the content.
// snippet.pictures
func receivePictures(of activity: UserActivity, into directory: String) async throws {
    guard activity.supportsContinuationStreams else { return }
    let (input, output) = try await activity.continuationStreams()
    try await input.receive(intoFile: "\(directory)/pictures.tar")
    try await output.finish()
}
// snippet.end

let host = UserActivityHost(
    RemoteSystemsConfiguration(applicationID: "com.example.editor"),
    activityTypes: ["com.example.editing"],
    handler: NoteContinuation { note, caret in print("Opening \(note) at \(caret).") }
)
try await host.run()
