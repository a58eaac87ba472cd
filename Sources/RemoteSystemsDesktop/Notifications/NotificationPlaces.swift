// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Where the server shows notifications, for the next process if this one is killed.
struct NotificationPlaces {
    /// The keys of the notifications.
    private var keys: [DesktopNotificationPlace: String] = [:]

    init() {}

    /// Reads what an earlier process has left. What is no place is left out.
    init(texts: [String: String]) {
        for (text, key) in texts {
            let parts = text.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let id = UInt32(parts[0]) else { continue }
            self.keys[DesktopNotificationPlace(server: String(parts[1]), id: id)] = key
        }
    }

    /// The keys of the notifications, by the texts of their places.
    var texts: [String: String] {
        Dictionary(self.keys.map { (Self.text($0.key), $0.value) }) { first, _ in first }
    }

    /// The places, by the keys of the notifications. Of several places of one notification, the last one has its key,
    /// and the others have keys that no notification has.
    var places: [String: DesktopNotificationPlace] {
        var places: [String: DesktopNotificationPlace] = [:]
        for (place, key) in self.keys.sorted(by: { $0.key.id > $1.key.id }) {
            places[places[key] == nil ? key : Self.text(place)] = place
        }
        return places
    }

    /// A server shows a notification.
    mutating func shown(_ key: String, at place: DesktopNotificationPlace) {
        // Another server has ended, with everything on its screen.
        self.keys = self.keys.filter { $0.key.server == place.server }
        self.keys[place] = key
    }

    /// A place is empty.
    mutating func removed(_ place: DesktopNotificationPlace) { self.keys[place] = nil }

    private static func text(_ place: DesktopNotificationPlace) -> String { "\(place.id) \(place.server)" }
}
