// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// A part of a list of notifications, which fits into a message.
struct NotificationPage {
    /// The size after which another page begins. The largest notification has about 64 KiB.
    private static let bytes = 262_144

    /// The maximum number of notifications of the history on a page.
    static let maxEntries = 256

    private(set) var sets: [ValueSet] = []
    /// Where the next page begins; `nil` after the last.
    private(set) var next: String?

    /// - Parameters:
    ///   - entries: all entries, each with a position. In the order of their positions.
    ///   - after: the position of the last entry of the page before; `nil` for the first page.
    init<Position: Comparable & LosslessStringConvertible>(
        _ entries: [(position: Position, set: ValueSet)],
        after text: String?
    ) throws(NotificationError) {
        let after = text.flatMap(Position.init)
        guard (text == nil) == (after == nil) else {
            throw NotificationError(.invalidContent, "There is no such page.", field: "After")
        }
        let rest = entries.filter { entry in after.map { entry.position > $0 } ?? true }
        self.init(rest.map { ("\($0.position)", $0.set) }, isLast: true)
    }

    /// - Parameters:
    ///   - entries: those of the page, with their positions, and possibly more.
    ///   - isLast: whether there are no others after them.
    init(_ entries: [(position: String, set: ValueSet)], isLast: Bool) {
        var bytes = 0
        var last: String?
        for (position, set) in entries {
            guard bytes < Self.bytes else {
                self.next = last
                return
            }
            // One that cannot be encoded would hide the others.
            guard let size = try? set.encodedSize() else { continue }
            self.sets.append(set)
            bytes += size
            last = position
        }
        if !isLast { self.next = last }
    }

    var valueSet: ValueSet {
        var set: ValueSet = ["Notifications": .array(self.sets.map { .dictionary($0) })]
        set.put(self.next, "Next")
        return set
    }

    /// Requests the pages of a list.
    ///
    /// - Parameter limit: the maximum number of notifications. Defaults to all.
    static func all(
        _ request: ValueSet,
        limit: Int = .max,
        _ send: (ValueSet) async throws -> ValueSet
    ) async throws -> [ValueSet] {
        var (sets, request) = ([ValueSet](), request)
        while sets.count < limit {
            let response = try await send(request)
            let page = (response["Notifications"]?.array ?? []).compactMap(\.dictionary)
            sets += page
            // Each page has something, or the list would have no end.
            guard let next = response["Next"]?.string, !page.isEmpty else { break }
            request["After"] = .string(next)
        }
        return Array(sets.prefix(limit))
    }
}

extension NotificationPage {
    /// A page of the notifications that wait for the user, in the order of their arrival.
    ///
    /// - Parameter own: the program whose notifications are wanted, with their user info; `nil` for all.
    init(_ entries: [ReceivedNotifications.Entry], own: NotificationSender?, after: String?) throws(NotificationError) {
        let wanted = entries.filter { own == nil || $0.sender == own }
        try self.init(wanted.map { ($0.number, $0.listed(withUserInfo: own != nil)) }, after: after)
    }

    /// A page of the notifications that wait for their triggers.
    ///
    /// - Parameter own: the program whose notifications are wanted, with their user info; `nil` for all.
    init(_ entries: [PendingNotifications.Entry], own: NotificationSender?, after: String?) throws(NotificationError) {
        let wanted = entries.filter { own == nil || $0.sender == own }
            .map { (NotificationRecord.key(of: $0.key), $0.listed(withUserInfo: own != nil)) }
            .sorted { $0.0 < $1.0 }
        try self.init(wanted, after: after)
    }
}

extension ValueSet {
    /// Adds where the files of attachments are, and which are damaged, for a program of this system.
    mutating func putFiles(of content: NotificationContent) {
        let files = NotificationAttachment.files(of: content.attachments)
        if !files.isEmpty { self["Files"] = .dictionary(files) }
        let damaged = content.attachments.filter(\.isDamaged).map { Value.string($0.identifier) }
        if !damaged.isEmpty { self["Damaged"] = .array(damaged) }
    }
}

extension RemoteNotification {
    /// Reads a notification that the daemon of this system has listed, with the places of its files.
    init(listed set: ValueSet) throws(NotificationError) {
        try self.init(local: set)
        try self.request.content.readFiles(set)
    }
}

extension NotificationContent {
    /// Reads where the files of the attachments are, and which are damaged.
    mutating func readFiles(_ set: ValueSet) throws(NotificationError) {
        let files = FieldReader(try FieldReader(set).dictionary("Files") ?? [:])
        let damaged = try FieldReader(set).strings("Damaged", max: NotificationLimits.attachments)
        for index in self.attachments.indices {
            self.attachments[index].path = try files.string(self.attachments[index].identifier)
            self.attachments[index].isDamaged = damaged.contains(self.attachments[index].identifier)
        }
    }
}

extension ReceivedNotifications.Entry {
    func listed(withUserInfo hasUserInfo: Bool) -> ValueSet {
        var notification = self.notification
        if !hasUserInfo { notification.request.content.userInfo = [:] }
        var set = notification.valueSet
        set["Key"] = .string(self.key)
        set["Application"] = .string(self.sender.application)
        set["SystemId"] = .string(self.sender.systemID)
        set.put(self.systemName, "SystemName")
        set.putFiles(of: self.notification.request.content)
        set["Shown"] = .bool(self.isShown)
        if self.isRead { set["Read"] = true }
        if let snoozedUntil { set["SnoozedUntil"] = .date(snoozedUntil) }
        set["Date"] = .date(self.arrived)
        return set
    }
}

extension PendingNotifications.Entry {
    func listed(withUserInfo hasUserInfo: Bool) -> ValueSet {
        var notification = self.notification
        if !hasUserInfo { notification.request.content.userInfo = [:] }
        var set = ValueSet.dated(self.date)
        for (key, value) in notification.localValueSet { set[key] = value }
        set.putFiles(of: self.notification.request.content)
        set["Application"] = .string(self.sender.application)
        return set
    }
}

extension ValueSet {
    /// The date of the next delivery. One that waits for a region has none.
    static func dated(_ date: Date) -> ValueSet { date < .distantFuture ? ["Date": .date(date)] : [:] }

    /// The number of notifications that a request concerned.
    static func counted(_ count: Int) -> ValueSet { ["Count": .integer(Int64(count))] }
}
