// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

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
    /// The maximum number of applications whose numbers other systems have set. The rest is for this system.
    static let maxByOtherSystems = 128
    /// The maximum number of applications whose numbers one other system has set; at most half of what is free.
    static let maxPerSystem = 32

    /// The numbers by the ids of the applications; none is 0. Ids are compared byte for byte, as the store compares its
    /// keys: of two that are one `String`, a record would remain that nothing here has.
    private(set) var all: [StateKey: Badge] = [:]

    subscript(application: String) -> Badge? { self.all[StateKey(application)] }

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
        let before = self[application]
        if count > 0, before?.sender.quotaHolder != sender.quotaHolder {
            try self.checkRoom(for: sender, replacing: before)
        }
        self.all[StateKey(application)] = count == 0 ? nil : Badge(count: count, sender: sender)
        return before
    }

    private func checkRoom(for sender: NotificationSender, replacing before: Badge?) throws(NotificationError) {
        guard before != nil || self.all.count < Self.maxApplications else {
            throw NotificationError(
                .limitExceeded,
                "\(Self.maxApplications) applications of the receiving system have a badge already."
            )
        }
        guard !sender.isLocal else { return }
        var others = KeyedLimiter<String>(total: Self.maxByOtherSystems, perKey: Self.maxPerSystem, sharesOfFree: 2)
        for badge in self.all.values where !badge.sender.isLocal { others.add(1, for: badge.sender.quotaHolder) }
        if let before, !before.sender.isLocal { others.leave(before.sender.quotaHolder) }
        guard others.capacity(for: sender.quotaHolder) != .free else { return }
        let own = others.count(of: sender.quotaHolder)
        throw NotificationError(
            .limitExceeded,
            own >= Self.maxPerSystem
                ? "The sending system has set the badges of \(Self.maxPerSystem) applications already."
                : "Other systems have set most of the \(Self.maxByOtherSystems) badges that they may. The sending "
                    + "system keeps its \(own), and may set more when others have reset theirs to 0."
        )
    }

    /// Sets a number as it was before.
    mutating func restore(_ badge: Badge?, of application: String) { self.all[StateKey(application)] = badge }

    /// Sets numbers that were stored, within the limits: an earlier version may have stored more. Those of this system
    /// come first.
    mutating func restore(_ badges: [(badge: Badge, application: String)]) {
        var others = KeyedLimiter<String>(total: Self.maxByOtherSystems, perKey: Self.maxPerSystem)
        for isLocal in [true, false] {
            for (badge, application) in badges where badge.sender.isLocal == isLocal {
                guard self.all.count < Self.maxApplications, (1...NotificationLimits.badge).contains(badge.count),
                    isLocal || others.enter(badge.sender.quotaHolder)
                else { continue }
                self.restore(badge, of: application)
            }
        }
    }

    /// Removes the numbers that some senders have set.
    ///
    /// - Returns: the ids of the applications.
    mutating func removeAll(by isRemoved: (NotificationSender) -> Bool) -> [String] {
        let removed = self.all.filter { isRemoved($0.value.sender) }.keys.map(\.text).sorted()
        for application in removed { self.restore(nil, of: application) }
        return removed
    }
}
