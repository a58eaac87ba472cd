// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The number at the icon of an application.
struct Badge: Hashable {
    var count: Int
    /// Who has set it last.
    var sender: NotificationSender
}

/// The numbers at the icons of this system's applications.
struct Badges {
    /// The maximum number of applications with a number. Applications are only claimed.
    static let maxApplications = 256
    /// The number from which on other systems give no further application a number. The rest is for this system.
    static let maxByOtherSystems = 128
    /// The maximum number of applications whose numbers one other system has set.
    static let maxPerSystem = 32

    /// The numbers by the ids of the applications; none is 0.
    private(set) var all: [String: Badge] = [:]

    /// Sets the number of an application.
    ///
    /// - Parameter count: 0 for none.
    /// - Returns: the number before; `nil` for none.
    /// - Throws: ``NotificationError`` with `limitExceeded`.
    mutating func set(
        _ count: Int,
        of application: String,
        by sender: NotificationSender
    ) throws(NotificationError) -> Badge? {
        guard (0...NotificationLimits.badge).contains(count) else {
            throw NotificationError(
                .limitExceeded,
                "The badge must be from 0 to \(NotificationLimits.badge).",
                field: "badge"
            )
        }
        let before = self.all[application]
        if count > 0, before?.sender.quotaHolder != sender.quotaHolder {
            try self.checkRoom(for: sender, replacesOne: before != nil)
        }
        self.all[application] = count == 0 ? nil : Badge(count: count, sender: sender)
        return before
    }

    private func checkRoom(for sender: NotificationSender, replacesOne: Bool) throws(NotificationError) {
        let max = sender.isLocal ? Self.maxApplications : Self.maxByOtherSystems
        guard replacesOne || self.all.count < max else {
            throw NotificationError(.limitExceeded, "\(max) applications of this system have a badge already.")
        }
        guard !sender.isLocal else { return }
        let own = self.all.values.count { $0.sender.quotaHolder == sender.quotaHolder }
        guard own < Self.maxPerSystem else {
            throw NotificationError(
                .limitExceeded,
                "The system has set the badges of \(Self.maxPerSystem) applications already."
            )
        }
    }

    /// Sets a number as it was before.
    mutating func restore(_ badge: Badge?, of application: String) { self.all[application] = badge }

    /// Removes the numbers that some senders have set.
    ///
    /// - Returns: the ids of the applications.
    mutating func removeAll(by isRemoved: (NotificationSender) -> Bool) -> [String] {
        let removed = self.all.filter { isRemoved($0.value.sender) }.keys.sorted()
        for application in removed { self.all[application] = nil }
        return removed
    }
}
