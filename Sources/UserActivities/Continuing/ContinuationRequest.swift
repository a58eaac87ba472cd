// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// A request of the service with which activities are continued (`Docs/wire/activities.md`).
enum ContinuationRequest: Sendable, Hashable {
    /// Requests the content of an activity. Sent to the application that offers it.
    ///
    /// - Parameters:
    ///   - voucher: the statement of the receiver's host daemon about the receiver's publisher, if there is one.
    ///   - isWebpageOnly: whether only the web address is wanted, for a browser. Within one account,
    ///     publishers are not compared then.
    case fetch(activity: UUID, voucher: [UInt8]?, isWebpageOnly: Bool = false)
    /// Confirms that the content arrived and can be used. The first confirmation continues the activity.
    case confirm(continuation: UUID)
    /// Returns the activity of a continuation that was confirmed: the application has failed to continue it.
    case `return`(continuation: UUID)
    /// Requests a stream of a continuation that was confirmed.
    case stream(continuation: UUID)
    /// Lets an application of the same system continue an activity.
    case receive(OfferReference)
    /// Lets an application of the same system show a web page for which the site approves the application.
    case webpage(ActivityPayload)

    /// Who may send each type of request. Decided before the rest of a request is read. The application whose activity
    /// it is decides about those that are permitted.
    static let callers: [String: RequestCallers] = [
        "fetch": .all, "confirm": .all, "return": .all, "stream": .all, "receive": .sameSystem,
        "webpage": .sameSystem,
    ]

    var message: ValueSet {
        switch self {
        case .fetch(let activity, let voucher, let isWebpageOnly):
            Self.fetch(activity, voucher, isWebpageOnly)
        case .confirm(let continuation): ["Request": "confirm", "Continuation": .uuid(continuation)]
        case .return(let continuation): ["Request": "return", "Continuation": .uuid(continuation)]
        case .stream(let continuation): ["Request": "stream", "Continuation": .uuid(continuation)]
        case .receive(let offer): offer.message.merging(["Request": "receive"]) { $1 }
        case .webpage(let page): ["Request": "webpage", "Payload": .dictionary(page.message)]
        }
    }

    private static func fetch(_ activity: UUID, _ voucher: [UInt8]?, _ isWebpageOnly: Bool) -> ValueSet {
        var message: ValueSet = ["Request": "fetch", "Activity": .uuid(activity)]
        message["Voucher"] = voucher.map { .data(Data($0)) }
        if isWebpageOnly { message["Part"] = "webpage" }
        return message
    }

    /// Reads a request; `nil` if it is not one that this version knows.
    init?(_ message: ValueSet) {
        let (activity, continuation) = (message["Activity"]?.uuid, message["Continuation"]?.uuid)
        switch (message["Request"]?.string, activity, continuation) {
        case ("fetch"?, let activity?, _):
            self = .fetch(
                activity: activity,
                voucher: message["Voucher"]?.data.map { Array($0) },
                isWebpageOnly: message["Part"]?.string == "webpage"
            )
        case ("confirm"?, _, let continuation?): self = .confirm(continuation: continuation)
        case ("return"?, _, let continuation?): self = .return(continuation: continuation)
        case ("stream"?, _, let continuation?): self = .stream(continuation: continuation)
        case ("receive"?, _, _):
            guard let offer = OfferReference(message) else { return nil }
            self = .receive(offer)
        case ("webpage"?, _, _):
            guard let content = message["Payload"]?.dictionary,
                let page = try? ActivityPayload(content, offeredAs: UserActivity.browsingWeb)
            else { return nil }
            self = .webpage(page)
        default: return nil
        }
    }
}

/// The keys of responses.
enum ContinuationResponse {
    static let continuation = "Continuation"
    static let payload = "Payload"
    static let voucher = "Voucher"
    static let ticket = "Ticket"
}
