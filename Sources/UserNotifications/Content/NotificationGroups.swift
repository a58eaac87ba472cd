// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The order of notifications in lists: those of one thread of one sender are together.
enum NotificationGroups {
    /// Puts the elements of each thread at the place of its first element, the most relevant first. Elements without a
    /// thread keep their places.
    ///
    /// - Parameters:
    ///   - sender: identifies the sender of an element.
    ///   - content: the content of an element.
    static func grouped<Element>(
        _ elements: [Element],
        sender: (Element) -> [String],
        content: (Element) -> NotificationContent
    ) -> [Element] {
        var places: [[String]: Int] = [:]
        var groups: [[Element]] = []
        for element in elements {
            guard let thread = content(element).threadIdentifier else {
                groups.append([element])
                continue
            }
            let key = sender(element) + [thread]
            if let place = places[key] {
                groups[place].append(element)
            } else {
                places[key] = groups.count
                groups.append([element])
            }
        }
        return groups.flatMap { group -> [Element] in
            let ranked = group.enumerated().map { (rank: content($0.element).relevanceScore, place: $0) }
            // Those of one relevance stay in their order.
            let sorted = ranked.sorted { ($1.rank, $0.place.offset) < ($0.rank, $1.place.offset) }
            return sorted.map(\.place.element)
        }
    }
}

extension [ListedNotification] {
    /// The same notifications with those of each thread together.
    package var grouped: [ListedNotification] {
        NotificationGroups.grouped(self) {
            [$0.systemID, $0.application]
        } content: {
            $0.notification.request.content
        }
    }
}

extension [EndedNotification] {
    /// The same notifications with those of each thread together.
    package var grouped: [EndedNotification] {
        NotificationGroups.grouped(self) {
            [$0.notification.systemID, $0.notification.application]
        } content: {
            $0.notification.notification.request.content
        }
    }
}

extension [DeliveredNotification] {
    /// The same notifications of one application with those of each thread together.
    package var grouped: [DeliveredNotification] {
        NotificationGroups.grouped(self) { _ in
            []
        } content: {
            $0.request.content
        }
    }
}
