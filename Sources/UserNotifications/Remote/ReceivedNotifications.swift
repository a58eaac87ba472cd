// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsTransport

/// The notifications of other systems and programs that wait for the user of this system.
struct ReceivedNotifications {
    struct Entry: Sendable, Hashable {
        /// Identifies the notification on this system, also in commands of the user.
        var key: String
        var sender: NotificationSender
        var notification: RemoteNotification
        /// The name of the sending system; `nil` for this system.
        var systemName: String?
        /// The connection over which it came, which receives the response; `nil` after its end.
        var link: ResponseRouting.Link?
        /// Whether the presenter shows it now.
        var isShown = false
        /// Whether its time on the screen is over. It stays in the list, and is not shown again.
        var isOver = false
        /// Whether the user has read it.
        var isRead = false
        /// The date until which it is hidden; `nil` if it is not.
        var snoozedUntil: Date?
        var expires: ContinuousClock.Instant?
        /// The time until which its extension may change it before it is shown; `nil` for one that is shown, or may be.
        var readyBy: ContinuousClock.Instant?
        /// The date of its arrival.
        var arrived: Date
        /// The order of arrival.
        var number: UInt64
        /// The number of the notification that was given to the presenter last. What the user does concerns that one.
        var presentedNumber: UInt64?

        /// Whether it leaves the list when its place is needed: a message that takes no answer, and that was read or
        /// whose time on the screen is over.
        var givesWay: Bool {
            self.notification.isOneWay && self.notification.category?.actions.isEmpty ?? true
                && (self.isOver || self.isRead) && self.snoozedUntil == nil
        }

        /// The key of its state on all systems; `nil` for one that ends on this system by itself.
        var stateKey: NotificationState.Key? {
            self.notification.deliveryID.map {
                NotificationState.Key(systemID: self.sender.systemID, deliveryID: $0)
            }
        }

        var presented: PresentedNotification {
            var presented = PresentedNotification(
                identifier: self.key,
                content: self.notification.request.content,
                category: self.notification.category,
                applicationName: self.notification.applicationName ?? self.sender.application,
                systemName: self.systemName
            )
            presented.isOfCommand = self.notification.isOfCommand(self.sender.application)
            if self.systemName != nil {
                presented.systemID = self.sender.systemID
                presented.quotaHolder = self.sender.quotaHolder
            } else {
                // The id of an application is that of its desktop entry, if it has one.
                presented.desktopEntry = self.sender.application
            }
            presented.imagePaths = self.notification.request.content.attachments.compactMap(\.imagePath)
            return presented
        }
    }

    /// The maximum number of notifications of one system, or of one linked account. Their applications are only
    /// claimed, so they share it. Each application of this system has as many. Where many have some, it is half of what
    /// is free of ``max``, so that the next one has room.
    static let maxPerSystem = 64
    /// The maximum number of notifications of the user's other systems; as many more are of linked accounts, and of
    /// this system.
    static let max = 512

    private var entries: [String: Entry] = [:]
    private var keys: [NotificationSender: [String: String]] = [:]
    /// The notifications by the holders of quotas, for each kind of sender.
    private var counts: [NotificationSender.Kind: KeyedLimiter<String>] = [:]
    private(set) var lastNumber: UInt64 = 0
    private var quota: SenderQuota
    /// The messages that have left the list for new notifications, until they are taken.
    private var displaced: [Entry] = []

    init(_ now: ContinuousClock.Instant) { self.quota = SenderQuota(now) }

    /// The notifications in the order of their arrival.
    var all: [Entry] { self.entries.values.sorted { $0.number < $1.number } }

    subscript(key: String) -> Entry? { self.entries[key] }

    /// The notification whose delivery has this digest.
    func entry(ofDelivery digest: String) -> Entry? {
        self.entries.values.first { $0.stateKey?.digest == digest }
    }

    /// Takes one permit of a sender, before its notification is read.
    mutating func admit(_ sender: NotificationSender, _ now: ContinuousClock.Instant) throws(NotificationError) {
        guard let limit = self.quota.take(sender, now) else { return }
        let text =
            switch limit {
            case .own:
                "Too many notifications of \(sender.holderText): it may send \(SenderQuota.burst) at once, and then "
                    + "one every two seconds."
            case .total:
                "Too many notifications of \(sender.allText) together: they may send \(SenderQuota.totalBurst) at "
                    + "once, and then two a second, in equal parts for those that send."
            }
        throw NotificationError(.rateLimited, "\(text) Try again in a few seconds.")
    }

    private static let noEntries = KeyedLimiter<String>(total: Self.max, perKey: Self.maxPerSystem, sharesOfFree: 2)

    /// Makes room for a notification. If there is none, the oldest messages that give way leave the list: one of the
    /// sender, or those of others if it has none.
    private mutating func makeRoom(for sender: NotificationSender) throws(NotificationError) {
        var counts = self.counts[sender.kind] ?? Self.noEntries
        guard counts.capacity(for: sender.quotaHolder) != .free else { return }
        let seen = self.entries.values.filter { $0.sender.kind == sender.kind && $0.givesWay }
            .sorted { $0.number < $1.number }
        var leaving = seen.filter { $0.sender.quotaHolder == sender.quotaHolder }.prefix(1)
        if leaving.isEmpty {
            for entry in seen where counts.capacity(for: sender.quotaHolder) != .free {
                counts.leave(entry.sender.quotaHolder)
                leaving.append(entry)
            }
            guard counts.capacity(for: sender.quotaHolder) == .free else { throw self.fullError(for: sender) }
        }
        for entry in leaving { self.remove(entry.key) }
        self.displaced += leaving
    }

    private func fullError(for sender: NotificationSender) -> NotificationError {
        let counts = self.counts[sender.kind] ?? Self.noEntries
        let own = counts.count(of: sender.quotaHolder)
        return NotificationError(
            .limitExceeded,
            own >= Self.maxPerSystem
                ? "\(own) notifications of \(sender.holderText) wait for the user, the maximum. Withdraw some of them."
                : "\(counts.count) of at most \(Self.max) notifications of \(sender.allText) wait for the user, "
                    + "\(own) of them of \(sender.holderText). Withdraw some of them, or try again later."
        )
    }

    /// The messages that have left the list for new notifications since the last call.
    mutating func takeDisplaced() -> [Entry] {
        defer { self.displaced = [] }
        return self.displaced
    }

    /// Adds a notification, in place of the one of the same sender with the same identifier. Others may leave the list
    /// for it: ``takeDisplaced()``.
    ///
    /// - Parameters:
    ///   - name: the name of the sending system; `nil` for this system.
    ///   - readyBy: the time until which its extension may change it. If it replaces one that waits for its extension,
    ///     the time of that one counts: replacements do not delay it forever.
    mutating func add(
        _ notification: RemoteNotification,
        from sender: NotificationSender,
        name: String?,
        link: ResponseRouting.Link? = nil,
        readyBy: ContinuousClock.Instant? = nil,
        at date: Date = .now,
        _ now: ContinuousClock.Instant
    ) throws(NotificationError) -> Entry {
        let known = self.keys[sender]?[notification.request.identifier]
        if known == nil {
            try self.makeRoom(for: sender)
            self.counts[sender.kind, default: Self.noEntries].add(1, for: sender.quotaHolder)
        }
        self.lastNumber += 1
        let earlier = known.flatMap { self.entries[$0] }
        var entry = Entry(
            key: known ?? "\(self.lastNumber)",
            sender: sender,
            notification: notification,
            systemName: name,
            link: link,
            isShown: earlier?.isShown ?? false,
            expires: (notification.expiration ?? Self.defaultExpiration(of: notification)).map { now + $0 },
            readyBy: readyBy.map { min($0, earlier?.readyBy ?? $0) },
            arrived: date,
            number: self.lastNumber,
            presentedNumber: earlier?.presentedNumber
        )
        // The same one was sent again. That it was read or snoozed may be forgotten elsewhere.
        if let earlier, let key = entry.stateKey, key == earlier.stateKey {
            (entry.isRead, entry.snoozedUntil) = (earlier.isRead, earlier.snoozedUntil)
        }
        self.entries[entry.key] = entry
        self.keys[sender, default: [:]][notification.request.identifier] = entry.key
        return entry
    }

    /// A notification that ends on all systems together waits for less time than its end is known.
    private static func defaultExpiration(of notification: RemoteNotification) -> Duration? {
        notification.deliveryID == nil ? nil : .seconds(RemoteNotification.maxExpiration)
    }

    /// Adds a notification that was stored.
    ///
    /// - Parameter rest: the time until it is withdrawn; `nil` for never.
    mutating func restore(_ stored: Entry, rest: Duration?, _ now: ContinuousClock.Instant) {
        let identifier = stored.notification.request.identifier
        guard self.entries[stored.key] == nil, self.keys[stored.sender]?[identifier] == nil else { return }
        var entry = stored
        entry.expires = rest.map { now + $0 }
        self.lastNumber = Swift.max(self.lastNumber, entry.number)
        self.entries[entry.key] = entry
        self.keys[entry.sender, default: [:]][identifier] = entry.key
        self.counts[entry.sender.kind, default: Self.noEntries].add(1, for: entry.sender.quotaHolder)
    }

    /// No number up to this one is given again.
    mutating func restore(lastNumber: UInt64) { self.lastNumber = Swift.max(self.lastNumber, lastNumber) }

    func entry(_ identifier: String, of sender: NotificationSender) -> Entry? {
        self.keys[sender]?[identifier].flatMap { self.entries[$0] }
    }

    /// Those of the identifiers for which a sender has a notification.
    ///
    /// - Parameter deliveryID: the delivery of that notification; `nil` for any.
    func identifiers(_ identifiers: [String], of sender: NotificationSender, _ deliveryID: UUID?) -> [String] {
        identifiers.filter { identifier in
            guard let entry = self.entry(identifier, of: sender) else { return false }
            return deliveryID == nil || entry.notification.deliveryID == deliveryID
        }
    }

    mutating func set(_ key: String, isShown: Bool) {
        self.entries[key]?.isShown = isShown
        // It is shown again, for example because its view has failed.
        if isShown { self.entries[key]?.isOver = false }
    }

    mutating func set(_ key: String, systemName: String) { self.entries[key]?.systemName = systemName }

    /// Files of a notification are lost.
    mutating func removeAttachments(_ lost: Set<AttachmentDigest>, of entry: Entry) {
        guard !lost.isEmpty, self.entries[entry.key]?.number == entry.number else { return }
        self.entries[entry.key]?.notification.request.content.attachments.removeAll { lost.contains($0.digest) }
    }

    /// A notification waits no longer for its extension.
    ///
    /// - Parameter content: its new content; `nil` for what was sent.
    /// - Returns: the entry; `nil` if it is gone, or was replaced.
    mutating func setReady(_ entry: Entry, _ content: NotificationContent?) -> Entry? {
        guard self.entries[entry.key]?.number == entry.number else { return nil }
        self.entries[entry.key]?.readyBy = nil
        if let content { self.entries[entry.key]?.notification.request.content = content }
        return self.entries[entry.key]
    }

    /// The time of a notification on the screen is over.
    ///
    /// - Returns: the entry, if there is one.
    mutating func setOver(_ key: String) -> Entry? {
        guard self.entries[key] != nil else { return nil }
        self.entries[key]?.isShown = false
        self.entries[key]?.isOver = true
        return self.entries[key]
    }

    /// The user has read a notification, or wants to see it later.
    ///
    /// - Parameter snoozedUntil: the date until which it is hidden, unless it is for longer; `nil` for no change.
    /// - Returns: the entry, if that is new.
    mutating func set(_ key: String, isRead: Bool, snoozedUntil: Date?) -> Entry? {
        guard let entry = self.entries[key] else { return nil }
        var changed = entry
        changed.isRead = entry.isRead || isRead
        if let snoozedUntil, snoozedUntil > entry.snoozedUntil ?? .distantPast {
            changed.snoozedUntil = snoozedUntil
            changed.isShown = false
        }
        guard changed != entry else { return nil }
        self.entries[key] = changed
        return changed
    }

    /// The notifications that are not hidden any longer, in the order of their arrival.
    mutating func endSnoozes(at date: Date) -> [Entry] {
        let due = self.all.filter { $0.snoozedUntil.map { $0 <= date } ?? false }
        for entry in due { self.entries[entry.key]?.snoozedUntil = nil }
        return due.compactMap { self.entries[$0.key] }
    }

    /// The date at which the next snooze ends.
    var nextSnoozeEnd: Date? { self.entries.values.compactMap(\.snoozedUntil).min() }

    /// A connection receives the responses to notifications from now on.
    mutating func set(_ link: ResponseRouting.Link, for identifiers: [String], of sender: NotificationSender) {
        for key in identifiers.compactMap({ self.keys[sender]?[$0] }) { self.entries[key]?.link = link }
    }

    /// A connection has ended.
    mutating func ended(_ link: ResponseRouting.Link) {
        for (key, entry) in self.entries where entry.link == link { self.entries[key]?.link = nil }
    }

    mutating func removeAll(where isOver: (Entry) -> Bool) -> [Entry] {
        self.entries.values.filter(isOver).map(\.key).compactMap { self.remove($0) }
    }

    /// The entry is given to the presenter.
    mutating func present(_ entry: Entry) { self.entries[entry.key]?.presentedNumber = entry.number }

    /// Whether the newest content of a notification has this number.
    func isCurrent(_ key: String, _ number: UInt64?) -> Bool { self.entries[key].map { $0.number == number } ?? false }

    @discardableResult
    mutating func remove(_ key: String) -> Entry? {
        guard let entry = self.entries.removeValue(forKey: key) else { return nil }
        self.keys[entry.sender]?[entry.notification.request.identifier] = nil
        if self.keys[entry.sender]?.isEmpty == true { self.keys[entry.sender] = nil }
        self.counts[entry.sender.kind]?.leave(entry.sender.quotaHolder)
        return entry
    }

    /// Removes notifications of a sender.
    mutating func withdraw(_ identifiers: [String], of sender: NotificationSender) -> [Entry] {
        identifiers.compactMap { self.keys[sender]?[$0] }.compactMap { self.remove($0) }
    }

    /// Removes the notifications whose time is over.
    mutating func removeExpired(_ now: ContinuousClock.Instant) -> [Entry] {
        self.removeAll { $0.expires.map { $0 <= now } ?? false }
    }

    var nextExpiration: ContinuousClock.Instant? { self.entries.values.compactMap(\.expires).min() }

    /// Removes a notification with which the user has done something. Each notification is responded to once.
    ///
    /// - Throws: ``NotificationError`` if it is gone, or does not have the action.
    mutating func respond(
        _ key: String,
        _ action: NotificationActionIdentifier,
        text: String?
    ) throws(NotificationError) -> Entry {
        let entry = try self.check(key, action, text: text)
        self.remove(key)
        return entry
    }

    /// Checks what the user does with a notification.
    ///
    /// - Throws: ``NotificationError`` if it is gone, or does not have the action.
    func check(
        _ key: String,
        _ action: NotificationActionIdentifier,
        text: String?
    ) throws(NotificationError) -> Entry {
        guard let entry = self.entries[key] else {
            throw NotificationError(
                .requestUnknown,
                "The notification is gone: it was answered elsewhere, withdrawn, or its time is over."
            )
        }
        let known = entry.notification.category?.actions.first { $0.identifier == action }
        guard action == .default || action == .dismiss || known != nil else {
            let names =
                (entry.notification.category?.actions.map(\.identifier.rawValue) ?? []) + ["default", "dismiss"]
            throw NotificationError(
                .invalidContent,
                "The notification has no such action. Its actions: \(names.joined(separator: ", ")).",
                field: "action"
            )
        }
        if let text {
            guard known?.textInput != nil else {
                throw NotificationError(.invalidContent, "The action takes no text.", field: "text")
            }
            try FieldCheck.text(text, "text", max: NotificationLimits.userTextBytes)
        }
        return entry
    }
}
