// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems

/// Where the notifications of offers are shown, in a file of the state directory. A process that is killed, or
/// whose server does not respond, cannot close its notifications, so the next one does.
struct OfferNotificationPlaces {
    private let account: RemoteSystemsAccount
    private let application: String
    /// By the keys of the notifications.
    private(set) var places: [String: DesktopNotificationPlace]

    /// Reads what an earlier process has left. A file that cannot be read counts as none: what it names stays shown.
    init(_ configuration: RemoteSystemsConfiguration) {
        self.account = RemoteSystemsAccount(configuration)
        self.application = configuration.applicationID
        let bytes = (try? self.account.contents(of: .offerNotifications(by: self.application)))?.bytes
        let places = bytes.flatMap {
            try? JSONDecoder().decode([String: DesktopNotificationPlace].self, from: Data($0))
        }
        self.places = places ?? [:]
    }

    /// Notes where a notification is shown.
    ///
    /// - Parameter wanted: the keys of all notifications that are to be shown. Other places are forgotten.
    mutating func shown(_ key: String, at place: DesktopNotificationPlace, wanted: Set<String>) {
        var new = self.places.filter { wanted.contains($0.key) }
        if wanted.contains(key) { new[key] = place }
        self.replace(by: new)
    }

    /// Notes that nothing is shown any more.
    mutating func clear() { self.replace(by: [:]) }

    private mutating func replace(by new: [String: DesktopNotificationPlace]) {
        guard new != self.places, let bytes = try? JSONEncoder().encode(new) else { return }
        self.places = new
        // Without the file, notifications stay only if this process is killed.
        try? self.account.update(.offerNotifications(by: self.application)) { _, _ in Array(bytes) }
    }
}
