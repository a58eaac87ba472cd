// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import ValueSets

/// The stored form of what a receiver knows.
extension NotificationRecord {
    /// A user info of 16 KiB with texts of 8 KiB and ten actions.
    private static let limits: ValueSetLimits = {
        var limits = ValueSetLimits.defaults
        limits.bytes = 131_072
        return limits
    }()

    private init(_ kind: Kind, key: String, date: Date, _ set: ValueSet) throws(NotificationError) {
        do throws(ValueSetError) {
            self.init(kind, key: key, date: date, body: try set.encoded(limits: Self.limits))
        } catch {
            throw NotificationError(.storeFailed, "The notification cannot be encoded: \(error)")
        }
    }

    private func values() throws(NotificationError) -> ValueSet {
        do throws(ValueSetError) {
            return try ValueSet(encoded: self.body, limits: Self.limits)
        } catch {
            throw NotificationError(.storeFailed, "The record is damaged: \(error)")
        }
    }

    // MARK: Pending

    /// The dates from about the year 2920 on stand for none, as of a notification that waits for a region.
    private static let lastDate: TimeInterval = 30_000_000_000

    static func key(of pending: PendingNotifications.Key) -> String {
        Self.key([pending.sender.systemID, pending.sender.application, pending.identifier])
    }

    private static func key(_ parts: [String]) -> String {
        parts.map { $0.replacing("\\", with: "\\\\").replacing("/", with: "\\/") }.joined(separator: "/")
    }

    init(_ entry: PendingNotifications.Entry) throws(NotificationError) {
        var set = entry.notification.localValueSet
        set["Sender"] = .dictionary(entry.sender.valueSet)
        set["Anchor"] = .date(entry.anchor)
        if let isInside = entry.isInside { set["Inside"] = .bool(isInside) }
        try self.init(.pending, key: Self.key(of: entry.key), date: entry.date, set)
    }

    func pending() throws(NotificationError) -> PendingNotifications.Entry {
        let set = try self.values()
        let notification = try RemoteNotification(local: set)
        guard let trigger = notification.request.trigger, let anchor = set["Anchor"]?.date else {
            throw NotificationError(.storeFailed, "The record has no trigger.")
        }
        return PendingNotifications.Entry(
            sender: try NotificationSender(try FieldReader(set).dictionary("Sender") ?? [:]),
            notification: notification,
            trigger: trigger,
            anchor: anchor,
            date: self.date.timeIntervalSince1970 < Self.lastDate ? self.date : .distantFuture,
            isInside: try FieldReader(set).bool("Inside")
        )
    }

    // MARK: Received

    /// - Parameter expires: the date at which the notification is withdrawn; `nil` for never.
    init(_ entry: ReceivedNotifications.Entry, expires: Date?) throws(NotificationError) {
        var set = entry.notification.localValueSet
        set["Sender"] = .dictionary(entry.sender.valueSet)
        set.put(entry.systemName, "SystemName")
        if entry.isOver { set["Over"] = true }
        if entry.isRead { set["Read"] = true }
        if let snoozedUntil = entry.snoozedUntil { set["SnoozedUntil"] = .date(snoozedUntil) }
        if let expires { set["Expires"] = .date(expires) }
        try self.init(.received, key: entry.key, date: entry.arrived, set)
    }

    func received() throws(NotificationError) -> (ReceivedNotifications.Entry, expires: Date?) {
        let set = try self.values()
        let reader = FieldReader(set)
        guard let number = UInt64(self.key), number < .max / 2 else {
            throw NotificationError(.storeFailed, "The record's key is not a number.")
        }
        var entry = ReceivedNotifications.Entry(
            key: self.key,
            sender: try NotificationSender(try reader.dictionary("Sender") ?? [:]),
            notification: try RemoteNotification(local: set),
            systemName: try reader.string("SystemName"),
            arrived: self.date,
            number: number
        )
        entry.isOver = try reader.bool("Over") ?? false
        entry.isRead = try reader.bool("Read") ?? false
        entry.snoozedUntil = set["SnoozedUntil"]?.date
        return (entry, set["Expires"]?.date)
    }

    init(lastNumber: UInt64, at date: Date) throws(NotificationError) {
        try self.init(.counter, key: "received", date: date, ["Last": .integer(Int64(clamping: lastNumber))])
    }

    func lastNumber() throws(NotificationError) -> UInt64 {
        guard let number = try FieldReader(try self.values()).int("Last").flatMap(UInt64.init(exactly:)) else {
            throw NotificationError(.storeFailed, "The record has no number.")
        }
        return number
    }

    // MARK: Places

    init(place: String, of key: String, at date: Date) throws(NotificationError) {
        try self.init(.place, key: place, date: date, ["Notification": .string(key)])
    }

    /// The key of the notification that is shown there.
    func placedKey() throws(NotificationError) -> String {
        try FieldReader(try self.values()).requiredString("Notification")
    }

    // MARK: Badges

    init(_ badge: Badge, of application: String, at date: Date) throws(NotificationError) {
        let set: ValueSet = [
            "Count": .integer(Int64(badge.count)), "Sender": .dictionary(badge.sender.valueSet),
        ]
        try self.init(.badge, key: application, date: date, set)
    }

    func badge() throws(NotificationError) -> (badge: Badge, application: String) {
        let reader = FieldReader(try self.values())
        // An earlier version did not store who has set it.
        let sender =
            try reader.dictionary("Sender").map { set throws(NotificationError) in try NotificationSender(set) }
            ?? NotificationSender(systemID: "", application: self.key, isLocal: true)
        return (Badge(count: try reader.int("Count") ?? 0, sender: sender), self.key)
    }

    // MARK: History

    /// - Parameters:
    ///   - action: what the user has chosen on this system.
    ///   - date: when it has ended.
    init(
        history entry: ReceivedNotifications.Entry,
        _ end: NotificationEnd,
        by action: NotificationActionIdentifier?,
        at date: Date
    ) throws(NotificationError) {
        var entry = entry
        // Their files go with the notification.
        entry.notification.request.content.attachments = []
        entry.snoozedUntil = nil
        var set = entry.listed(withUserInfo: false)
        set["Shown"] = false
        set["Event"] = .string(end.rawValue)
        set["Ended"] = .date(date)
        if end == .answered { set.put(action?.rawValue, "Action") }
        try self.init(.history, key: entry.key, date: date, set)
        // One sender does not displace what others have sent.
        self.source = entry.sender.quotaHolder
    }

    func history() throws(NotificationError) -> ValueSet { try self.values() }

    // MARK: States

    init(
        _ state: NotificationState,
        of key: NotificationState.RecordKey,
        from sources: Set<String>?,
        sender: String?
    ) throws(NotificationError) {
        var set = state.valueSet
        // No source has a space.
        set.put(sources?.sorted().joined(separator: " "), "From")
        set.put(sender, "Sender")
        try self.init(.state, key: key.text, date: state.date, set)
    }

    func state() throws(NotificationError) -> (
        NotificationState, key: NotificationState.RecordKey, sources: Set<String>?, sender: String?
    ) {
        let values = try self.values()
        guard let state = NotificationState(values),
            let key = NotificationState.RecordKey(self.key, state.status)
        else {
            throw NotificationError(.storeFailed, "The record is not a state.")
        }
        let sources = values["From"]?.string.map { Set($0.split(separator: " ").map(String.init)) }
        return (state, key, sources, values["Sender"]?.string)
    }

    // MARK: Mirrored

    private static let maxDeliveries = 256

    init(
        mirrored identifier: String,
        _ deliveries: [NotificationState.Key],
        at date: Date
    ) throws(NotificationError) {
        let texts = deliveries.prefix(Self.maxDeliveries).map { Value.string($0.text) }
        try self.init(.mirrored, key: identifier, date: date, ["Deliveries": .array(texts)])
    }

    /// The deliveries that other systems may show.
    func mirrored() throws(NotificationError) -> [NotificationState.Key] {
        let texts = try FieldReader(try self.values()).strings("Deliveries", max: Self.maxDeliveries)
        return texts.compactMap { NotificationState.Key($0) }
    }

    // MARK: Responses

    /// - Parameter deliveryID: the delivery that the user has responded to; `nil` if it is not known.
    init(
        _ response: NotificationResponse,
        to sender: NotificationSender,
        _ deliveryID: UUID?,
        date: Date
    ) throws(NotificationError) {
        var set: ValueSet = ["Sender": .dictionary(sender.valueSet), "Response": .dictionary(response.valueSet)]
        if let deliveryID { set["Delivery"] = .uuid(deliveryID) }
        try self.init(.response, key: response.id, date: date, set)
    }

    func response() throws(NotificationError) -> (NotificationResponse, sender: NotificationSender, deliveryID: UUID?) {
        let reader = FieldReader(try self.values())
        return (
            try NotificationResponse(try reader.dictionary("Response") ?? [:]),
            try NotificationSender(try reader.dictionary("Sender") ?? [:]),
            try reader.uuid("Delivery")
        )
    }
}

extension NotificationRecord {
    // MARK: Outbox

    static func key(of key: Outbox.Key) -> String { Self.key([key.system, key.application, key.identifier]) }

    init(_ entry: Outbox.Entry) throws(NotificationError) {
        var set = entry.notification.valueSet
        set["System"] = .string(entry.key.system)
        set["Application"] = .string(entry.key.application)
        set["Expires"] = .date(entry.expires)
        try self.init(.outbox, key: Self.key(of: entry.key), date: entry.date, set)
    }

    func outbox() throws(NotificationError) -> Outbox.Entry {
        let set = try self.values()
        let reader = FieldReader(set)
        let notification = try RemoteNotification(local: set)
        let key = Outbox.Key(
            system: try reader.requiredString("System"),
            application: try reader.requiredString("Application"),
            identifier: notification.request.identifier
        )
        let expires = set["Expires"]?.date ?? self.date + Outbox.life
        return Outbox.Entry(key: key, notification: notification, date: self.date, expires: expires)
    }

    // MARK: Permissions

    init(
        _ permission: NotificationPermission,
        perHour: Int? = nil,
        for subject: NotificationPermissions.Subject,
        at date: Date
    ) throws(NotificationError) {
        var set: ValueSet = ["Permission": .string(permission.rawValue)]
        if let perHour { set["PerHour"] = .integer(Int64(perHour)) }
        set.put(subject.system, "System")
        set.put(subject.application, "Application")
        try self.init(.permission, key: "\(subject.system ?? "*") \(subject.application ?? "*")", date: date, set)
    }

    /// What a permission concerns, read from its key.
    var permissionSubject: NotificationPermissions.Subject? {
        // No id of a system or an account has a space.
        let parts = self.key.split(separator: " ", maxSplits: 1).map(String.init)
        guard self.kind == .permission, parts.count == 2 else { return nil }
        return NotificationPermissions.Subject(
            system: parts[0] == "*" ? nil : parts[0],
            application: parts[1] == "*" ? nil : parts[1]
        )
    }

    /// Everything is shown silently: in place of permissions that were lost.
    package static func silentForAll(at date: Date) throws(NotificationError) -> NotificationRecord {
        try NotificationRecord(.silent, for: NotificationPermissions.Subject(), at: date)
    }

    func permission() throws(NotificationError) -> (NotificationPermission, NotificationPermissions.Subject) {
        let reader = FieldReader(try self.values())
        // What a later version permits less of is not permitted.
        let permission = NotificationPermission(rawValue: try reader.requiredString("Permission")) ?? .denied
        let subject = NotificationPermissions.Subject(
            system: try reader.string("System"),
            application: try reader.string("Application")
        )
        return (permission, subject)
    }

    /// The maximum number of notifications an hour that a permission has; `nil` for any.
    func perHour() throws(NotificationError) -> Int? { try FieldReader(try self.values()).int("PerHour") }
}

extension NotificationSender {
    fileprivate var valueSet: ValueSet {
        var set: ValueSet = ["System": .string(self.systemID), "Application": .string(self.application)]
        set.put(self.linkedAccountID, "Account")
        if self.isLocal { set["Local"] = true }
        return set
    }

    fileprivate init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.init(
            systemID: try reader.requiredString("System"),
            application: try reader.requiredString("Application"),
            linkedAccountID: try reader.string("Account"),
            isLocal: try reader.bool("Local") ?? false
        )
    }
}
