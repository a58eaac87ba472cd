// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// A request of the service with which activities are continued (`Docs/wire/activities.md`).
enum ContinuationRequest: Sendable, Hashable {
    /// Requests the content of an activity. Sent to the application that offers it.
    case fetch(activity: UUID)
    /// Confirms that the content arrived and can be used. The first confirmation continues the activity.
    case confirm(continuation: UUID)
    /// Requests a stream of a continuation that was confirmed.
    case stream(continuation: UUID)
    /// Lets an application of the same system continue an activity. Only programs of the same system may send it.
    case receive(OfferReference)

    var message: ValueSet {
        switch self {
        case .fetch(let activity): ["Request": "fetch", "Activity": .uuid(activity)]
        case .confirm(let continuation): ["Request": "confirm", "Continuation": .uuid(continuation)]
        case .stream(let continuation): ["Request": "stream", "Continuation": .uuid(continuation)]
        case .receive(let offer): offer.message.merging(["Request": "receive"]) { $1 }
        }
    }

    /// Reads a request; `nil` if it is not one that this version knows.
    init?(_ message: ValueSet) {
        let (activity, continuation) = (message["Activity"]?.uuid, message["Continuation"]?.uuid)
        switch (message["Request"]?.string, activity, continuation) {
        case ("fetch"?, let activity?, _): self = .fetch(activity: activity)
        case ("confirm"?, _, let continuation?): self = .confirm(continuation: continuation)
        case ("stream"?, _, let continuation?): self = .stream(continuation: continuation)
        case ("receive"?, _, _):
            guard let offer = OfferReference(message) else { return nil }
            self = .receive(offer)
        default: return nil
        }
    }
}

/// The keys of responses.
enum ContinuationResponse {
    static let continuation = "Continuation"
    static let payload = "Payload"
    static let ticket = "Ticket"
}
