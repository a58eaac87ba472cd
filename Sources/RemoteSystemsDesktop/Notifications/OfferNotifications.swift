// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The notifications of the activities that can be continued on this system.
struct OfferNotifications {
    /// An activity that another system offers, as far as its notification shows it.
    struct Offer: Sendable, Hashable {
        /// Identifies the application that offers it: its next activity replaces this one.
        var key: String
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

    /// The maximum number of notifications. Another system could offer any number of activities.
    static let max = 4
    /// The maximum number of applications of which one notification lets the user choose.
    static let maxReceivers = 3
    private static let continueHere = "continue"

    private var offers: [Offer] = []
    private var progress: [String: Progress] = [:]
    /// Whether the session is locked; `nil` before that is known. Nothing is shown until then.
    private var isLocked: Bool?

    /// What the server is to show.
    var notifications: [DesktopNotification] {
        guard let isLocked = self.isLocked else { return [] }
        return self.offers.prefix(Self.max).map { offer in
            guard !isLocked else {
                // Everyone who passes by can read it.
                return DesktopNotification(key: offer.key, summary: "Continue on this machine", body: offer.application)
            }
            switch self.progress[offer.key] {
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

    mutating func set(_ offers: [Offer]) {
        self.offers = offers.map { offer in
            var offer = offer
            offer.title = DesktopNotification.line(offer.title)
            offer.application = DesktopNotification.line(offer.application)
            offer.system = DesktopNotification.line(offer.system)
            return offer
        }
        let keys = Set(offers.map(\.key))
        self.progress = self.progress.filter { keys.contains($0.key) }
    }

    mutating func lock(_ isLocked: Bool) { self.isLocked = isLocked }

    /// The user has chosen an action.
    ///
    /// - Returns: the application that is to continue the activity, or `nil` in it for the browser; `nil` if nothing is
    ///   to be done.
    mutating func begin(_ key: String, action: String) -> (offer: Offer, receiver: String?)? {
        guard self.isLocked == false, self.progress[key] != .continuing,
            let offer = self.offers.first(where: { $0.key == key })
        else { return nil }
        let receiver: String?
        if let index = Int(action), offer.receivers.indices.contains(index) {
            receiver = offer.receivers[index].id
        } else {
            guard offer.receivers.count <= 1 else { return nil }
            receiver = offer.receivers.first?.id
        }
        self.progress[key] = .continuing
        return (offer, receiver)
    }

    /// The activity was continued, or could not be.
    mutating func end(_ key: String, failure: String?) {
        self.progress[key] = failure.map { .failed(DesktopNotification.line($0)) }
    }

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
