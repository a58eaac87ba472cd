// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import UserActivities
import ValueSets

// A part of a window, which knows its own part of the state.
// snippet.responder
actor TextView: ActivityResponder {
    private var caret = 0

    func updateUserActivityState(_ activity: UserActivity) async {
        activity.addUserInfoEntries(["Caret": .integer(Int64(self.caret))])
    }

    func restoreUserActivityState(_ activity: UserActivity) async {
        self.caret = activity.userInfo["Caret"]?.int ?? 0
    }
}
// snippet.end

// snippet.document
func opened(_ document: URL, in view: TextView, at host: UserActivityHost) async throws -> DocumentActivity {
    let binding = DocumentActivity(type: "com.example.editing", document: document)
    binding.activity.addResponder(view)
    binding.activity.needsSave = true
    try await binding.windowBecameMain(at: host)
    return binding
}
// snippet.end

// Both systems have the folder, each in its own place, and register it under the same name.
// snippet.host
func editorHost(_ configuration: RemoteSystemsConfiguration, notes: URL) throws -> UserActivityHost {
    var options = UserActivityHost.Options()
    options.documents = try DocumentURLMapper(roots: ["notes": notes])
    return UserActivityHost(
        configuration,
        activityTypes: ["com.example.editing"],
        options: options,
        handler: DocumentContinuationHandler { document in
            print("Opening \(document.lastPathComponent).")
            return [TextView()]
        }
    )
}
// snippet.end

// snippet.saved
func keep(_ activity: UserActivity, _ configuration: RemoteSystemsConfiguration) async throws {
    activity.persistentIdentifier = "minutes-42"
    activity.keywords = ["board", "budget"]
    activity.isEligibleForSearch = true
    let saved = SavedActivities(configuration)
    try await saved.save(activity)
    for found in try saved.search("budg") { print(found.title ?? found.type) }
}

func restore(_ view: TextView, _ configuration: RemoteSystemsConfiguration) async throws -> Bool {
    try await SavedActivities(configuration).restore("minutes-42", into: [view])
}
// snippet.end

// snippet.publisher
func label(_ offer: UserActivityOffer) -> String {
    switch offer.publisher {
    case .proven(let id): "\(offer.activityType) of the publisher \(id)"
    case .unproven, .unsigned: "\(offer.activityType), whose publisher is not proven"
    case .invalidSignature: "\(offer.activityType), whose manifest was changed"
    }
}
// snippet.end
