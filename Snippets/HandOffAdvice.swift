// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import UserActivities

// One type for each thing that a user can carry on with. The name of the application is part of a type only if no other
// application can continue it.
// snippet.types
enum ActivityTypes {
    /// Any mail program continues a draft.
    static let composing = "com.example.composing"
    /// Any list program shows a list.
    static let browsing = "com.example.browsing-list"
    /// Only this program knows its own rules.
    static let editingRule = "com.example.mail.editing-rule"
}
// snippet.end

// The smallest content that identifies the item and the place in it: not the item itself.
// snippet.content
func describe(message id: String, line: Int) -> UserActivity {
    let activity = UserActivity(type: ActivityTypes.composing, title: "Re: Lunch")
    activity.userInfo = ["Message": .string(id), "Line": .integer(Int64(line))]
    activity.payloadVersion = 2
    return activity
}
// snippet.end

// The details for an application are in the content, and the address for a browser identifies the same item.
// snippet.address
func addAddress(to activity: UserActivity, album: Int, second: Int) {
    activity.addUserInfoEntries(["Album": .integer(Int64(album)), "Second": .integer(Int64(second))])
    activity.webpageURL = URL(string: "https://example.com/album/\(album)?t=\(second)")
}
// snippet.end

// Where there is no such page, the address explains how to get an application that continues the activity.
// snippet.help
func addHelp(to activity: UserActivity) {
    activity.webpageURL = URL(string: "https://example.com/get-the-player")
}
// snippet.end

// A small application continues what a large one, perhaps a newer one, has begun, or says why it cannot.
// snippet.versions
func message(in activity: UserActivity) throws -> (id: String, line: Int) {
    let version = activity.payloadVersion ?? 1
    guard (1...2).contains(version) else {
        throw ContinuationError(
            .versionNotSupported,
            "This program is too old for version \(version) of the message. Update it.",
            side: .local
        )
    }
    guard let id = activity.userInfo["Message"]?.string else {
        throw ContinuationError(.payloadInvalid, "The activity names no message.", side: .remote)
    }
    // Version 1 had no line. Keys that a newer version adds are ignored.
    return (id, activity.userInfo["Line"]?.int ?? 0)
}
// snippet.end

// Much data moves only if the user wants it: the text first, and the pictures over a stream when they are looked at.
// snippet.cost
func pictures(of activity: UserActivity, isMetered: Bool) async throws -> [UInt8] {
    guard activity.supportsContinuationStreams, !isMetered else { return [] }
    let (input, output) = try await activity.continuationStreams()
    var bytes: [UInt8] = []
    for try await part in input { bytes += part }
    try await output.finish()
    return bytes
}
// snippet.end
