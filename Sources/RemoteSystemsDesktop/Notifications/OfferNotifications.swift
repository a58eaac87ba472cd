// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// The notifications of the activities that can be continued on this system.
struct OfferNotifications {
    /// An activity that another system offers, as far as its notification shows it.
    struct Offer: Sendable, Hashable {
        /// Identifies the application that offers it: its next activity replaces this one.
        var key: String
        /// The id of the activity.
        var id: UUID
        var title: String
        var application: String
        var system: String
        /// The ids and names of the applications that can continue it here; none if a browser does.
        var receivers: [Receiver]
    }

    struct Receiver: Sendable, Hashable {
        var id: String
        var name: String
    }

    /// What the user has begun.
    private enum Progress: Hashable {
        case continuing
        case failed(String)
    }

    /// An activity of an application. Ids alone can be copied.
    private struct Activity: Hashable {
        var key: String
        var id: UUID
    }

    /// The maximum number of notifications. Another system could offer any number of activities.
    static let max = 4
    /// The maximum number of applications of which one notification lets the user choose.
    static let maxReceivers = 3
    private static let continueHere = "continue"

    private var offers: [Offer] = []
    private var progress: [Activity: Progress] = [:]
    /// Whether the session is locked; `nil` before that is known. Nothing is shown until then.
    private(set) var isLocked: Bool?

    /// What the server is to show.
    var notifications: [DesktopNotification] {
        guard let isLocked = self.isLocked else { return [] }
        return self.offers.prefix(Self.max).map { offer in
            guard !isLocked else {
                // Everyone who passes by can read it.
                return DesktopNotification(key: offer.key, summary: "Continue on this machine", body: offer.application)
            }
            switch self.progress[Self.activity(of: offer)] {
            case .continuing: return DesktopNotification(key: offer.key, summary: "Continuing \(offer.title.quoted) …")
            case .failed(let reason):
                return DesktopNotification(
                    key: offer.key,
                    summary: "\(offer.title.quoted) could not be continued",
                    body: reason,
                    actions: Self.actions(of: offer)
                )
            case nil:
                return DesktopNotification(
                    key: offer.key,
                    summary: "Continue on this machine: \(offer.title)",
                    body: "\(offer.application.quoted) on \(offer.system.quoted)",
                    actions: Self.actions(of: offer)
                )
            }
        }
    }

    /// Replaces the offers. Of several with one key, the first counts: a notification shows one.
    mutating func set(_ offers: [Offer]) {
        var keys: Set<String> = []
        self.offers = offers.filter { keys.insert($0.key).inserted }.map { offer in
            var offer = offer
            offer.title = DesktopNotification.line(offer.title)
            offer.application = DesktopNotification.line(offer.application)
            offer.system = DesktopNotification.line(offer.system)
            return offer
        }
        let activities = Set(self.offers.map(Self.activity))
        self.progress = self.progress.filter { activities.contains($0.key) }
    }

    mutating func lock(_ isLocked: Bool) { self.isLocked = isLocked }

    /// The user has chosen an action.
    ///
    /// - Returns: the application that is to continue the activity, or `nil` in it for the browser; `nil` if nothing is
    ///   to be done.
    mutating func begin(_ key: String, action: String) -> (offer: Offer, receiver: String?)? {
        guard self.isLocked == false, let offer = self.offers.first(where: { $0.key == key }),
            self.progress[Self.activity(of: offer)] != .continuing
        else { return nil }
        let receiver: String?
        if let index = Int(action), offer.receivers.indices.contains(index) {
            receiver = offer.receivers[index].id
        } else {
            guard offer.receivers.count <= 1 else { return nil }
            receiver = offer.receivers.first?.id
        }
        self.progress[Self.activity(of: offer)] = .continuing
        return (offer, receiver)
    }

    /// An activity that was begun was continued, or could not be. If the application offers another one by now, the
    /// failure is not shown: it would be read as that of the other one.
    mutating func end(_ offer: Offer, failure: String?) {
        let activity = Self.activity(of: offer)
        guard self.progress[activity] != nil else { return }
        self.progress[activity] = failure.map { .failed(DesktopNotification.line($0)) }
    }

    private static func activity(of offer: Offer) -> Activity { Activity(key: offer.key, id: offer.id) }

    private static func actions(of offer: Offer) -> [DesktopNotification.Action] {
        guard offer.receivers.count > 1 else {
            return [
                .init(key: DesktopNotification.Action.click, label: "Continue"),
                .init(key: Self.continueHere, label: "Continue"),
            ]
        }
        return offer.receivers.prefix(Self.maxReceivers).enumerated().map { index, receiver in
            .init(key: "\(index)", label: "Continue in \(DesktopNotification.line(receiver.name))")
        }
    }
}
