// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import RemoteSystems
internal import RemoteSystemsIdentity
package import ValueSets

/// A notification that waits for the user of this system, as its host daemon lists it.
package struct ListedNotification: Sendable {
    /// Identifies the notification on this system.
    package var key: String
    package var notification: RemoteNotification
    /// The application that has sent it. Not verified.
    package var application: String
    package var systemID: String
    /// The name of the system that has sent it; `nil` for this one.
    package var systemName: String?
    package var isShown: Bool
    /// Whether the user has read it, on any system.
    package var isRead: Bool
    /// The date until which it is hidden; `nil` if it is not.
    package var snoozedUntil: Date?
    /// The date of its arrival.
    package var date: Date

    package init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.key = try reader.requiredString("Key")
        self.application = try reader.requiredString("Application")
        self.systemID = try reader.requiredString("SystemId")
        self.systemName = try reader.string("SystemName")
        self.isShown = try reader.bool("Shown") ?? false
        self.isRead = try reader.bool("Read") ?? false
        self.snoozedUntil = set["SnoozedUntil"]?.date
        self.date = set["Date"]?.date ?? .distantPast
        self.notification = try RemoteNotification(listed: set)
    }
}

/// A notification that waits for its trigger, as the host daemon lists it.
package struct ScheduledNotification: Sendable {
    package var notification: RemoteNotification
    /// The application that has added it. Not verified.
    package var application: String
    /// The date of the next delivery; the distant future for one that waits for a region.
    package var date: Date
    /// The date of the next delivery, if it has one.
    package var dateOfDelivery: Date? { self.date < .distantFuture ? self.date : nil }

    init(_ set: ValueSet) throws(NotificationError) {
        self.notification = try RemoteNotification(listed: set)
        self.application = try FieldReader(set).requiredString("Application")
        self.date = set["Date"]?.date ?? .distantFuture
    }
}

/// A notification that has ended, as the host daemon lists it.
package struct EndedNotification: Sendable {
    package var notification: ListedNotification
    /// `answered`, `dismissed`, `withdrawn` or `expired`.
    package var event: String
    /// The action with which it was answered on this system.
    package var action: NotificationActionIdentifier?
    /// The date at which it has ended.
    package var date: Date

    init(_ set: ValueSet) throws(NotificationError) {
        self.notification = try ListedNotification(set)
        self.event = try FieldReader(set).requiredString("Event")
        self.action = try FieldReader(set).string("Action").map(NotificationActionIdentifier.init(rawValue:))
        self.date = set["Ended"]?.date ?? .distantPast
    }
}

/// The number of notifications of a sender that were not accepted, as the host daemon lists it.
package struct RefusedNotifications: Sendable {
    package var systemID: String
    /// The application that has sent them. Not verified.
    package var application: String
    /// Those of a sender that the user has denied.
    package var denied: Int
    /// Those beyond the limit of the user.
    package var limited: Int
    /// Those of a sender that was faster than any sender may be.
    package var tooFast: Int

    package var total: Int { self.denied + self.limited + self.tooFast }

    init(_ set: ValueSet) {
        func count(_ reason: NotificationRefusals.Reason) -> Int {
            max(0, min(set[reason.rawValue]?.int ?? 0, 1 << 40))
        }
        self.systemID = set["System"]?.string ?? ""
        self.application = set["Application"]?.string ?? ""
        (self.denied, self.limited, self.tooFast) = (count(.denied), count(.limited), count(.tooFast))
    }
}

/// The notifications that wait for the user of this system, read from its host daemon.
package final class LocalNotifications: Sendable {
    /// A change of the list.
    package struct Change: Sendable {
        /// `delivered`, `read`, `snoozed`, `answered`, `dismissed`, `withdrawn` or `expired`.
        package var event: String
        package var notification: ListedNotification
    }

    package let changes: AsyncStream<Change>
    private let connection: AppServiceConnection

    package init() {
        let (changes, feed) = AsyncStream.makeStream(of: Change.self, bufferingPolicy: .bufferingNewest(256))
        self.changes = changes
        self.connection = AppServiceConnection(
            to: NotificationMessage.description,
            onRequest: { request in
                guard let event = request.message["Event"]?.string,
                    let set = request.message["Notification"]?.dictionary,
                    let notification = try? ListedNotification(set)
                else { return [:] }
                feed.yield(Change(event: event, notification: notification))
                return [:]
            }
        )
        self.connection.onClosed { _ in feed.finish() }
    }

    package func open(_ request: RemoteSystemConnectionRequest) async throws {
        guard try await self.connection.open(request) == .success else {
            throw self.connection.openError
                ?? RemoteSystemError(.unreachable, "The host daemon does not respond.", side: .local)
        }
    }

    /// Lists the notifications, those of each thread together.
    package func list() async throws -> [ListedNotification] {
        try await self.list(NotificationMessage.list).grouped
    }

    /// Lists the notifications, and reports every change in ``changes`` from then on.
    package func watch() async throws -> [ListedNotification] {
        try await self.list(NotificationMessage.watch)
    }

    private func list(_ type: String) async throws -> [ListedNotification] {
        try await NotificationPage.all(["Type": .string(type)], self.send).map { set in try ListedNotification(set) }
    }

    /// Lists the notifications that have ended in the last 30 days, the newest first.
    ///
    /// - Parameter limit: the maximum number.
    package func history(limit: Int) async throws -> [EndedNotification] {
        let request: ValueSet = ["Type": .string(NotificationMessage.history)]
        return try await NotificationPage.all(request, limit: limit, self.send).map { try EndedNotification($0) }
    }

    /// Deletes one notification of the history, or all.
    ///
    /// - Returns: how many were deleted.
    package func forget(_ key: String?) async throws -> Int {
        var message: ValueSet = ["Type": .string(NotificationMessage.forget)]
        message.put(key, "Key")
        return try await self.send(message)["Count"]?.int ?? 0
    }

    /// Delivers a notification when its trigger fires, also after this program has ended.
    ///
    /// - Returns: the date of its delivery.
    package func schedule(_ notification: RemoteNotification) async throws -> Date? {
        try notification.request.validate()
        try await self.connection.sendToDaemon(notification.request.content.attachments)
        let response = try await self.send(NotificationMessage.schedule(notification))
        return response["Date"]?.date
    }

    /// Lists the notifications that wait for their triggers, the next first. Also of another system of the account.
    package func pending() async throws -> [ScheduledNotification] {
        try await NotificationPage.all(["Type": .string(NotificationMessage.pending)], self.send)
            .map { set in try ScheduledNotification(set) }
            .sorted { $0.date < $1.date }
    }

    /// Removes notifications that wait for their triggers.
    ///
    /// - Parameter application: the application that has added them; `nil` for this one.
    /// - Returns: how many were removed.
    package func cancel(_ identifiers: [String], of application: String? = nil) async throws -> Int {
        try await self.send(NotificationMessage.cancel(identifiers, of: application))["Count"]?.int ?? 0
    }

    /// Sends a notification to other systems of the account when they are back.
    package func post(_ notification: RemoteNotification, to systems: [String]) async throws {
        try notification.validate()
        try await self.connection.sendToDaemon(notification.request.content.attachments)
        _ = try await self.send(NotificationMessage.post(notification, to: systems))
    }

    /// Lists the notifications that wait for systems that are away.
    package func posted() async throws -> [PostedNotification] {
        try await NotificationPage.all(["Type": .string(NotificationMessage.posted)], self.send)
            .map { set in try PostedNotification(set) }
    }

    /// Removes notifications that wait for systems that are away.
    ///
    /// - Returns: how many were removed.
    package func unpost(_ identifiers: [String]) async throws -> Int {
        try await self.send(NotificationMessage.unpost(identifiers))["Count"]?.int ?? 0
    }

    /// What the user permits systems and applications, without those that may show everything.
    package func permissions() async throws -> [(
        system: String?, application: String?, NotificationPermission, perHour: Int?
    )] {
        let message: ValueSet = ["Type": .string(NotificationMessage.permissions)]
        return (try await self.send(message)["Permissions"]?.array ?? []).compactMap(\.dictionary)
            .compactMap { set in
                let permission = set["Permission"]?.string.flatMap(NotificationPermission.init(rawValue:))
                return permission.map { (set["System"]?.string, set["Application"]?.string, $0, set["PerHour"]?.int) }
            }
    }

    /// Whose notifications were not accepted since the start of the host daemon, those with the most first.
    package func refused() async throws -> [RefusedNotifications] {
        let message: ValueSet = ["Type": .string(NotificationMessage.permissions)]
        return (try await self.send(message)["Refused"]?.array ?? []).compactMap(\.dictionary)
            .map { RefusedNotifications($0) }
            .sorted { ($1.total, $0.application) < ($0.total, $1.application) }
    }

    /// Permits a system, an application, or both together to show notifications, or not.
    ///
    /// - Parameter perHour: the maximum number of notifications an hour; `nil` for any.
    package func permit(
        _ permission: NotificationPermission,
        perHour: Int?,
        system: String?,
        application: String?
    ) async throws {
        let message = NotificationMessage.permit(
            permission,
            perHour: perHour,
            system: system,
            application: application
        )
        _ = try await self.send(message)
    }

    /// Opens the view of a notification on the desktop of this system.
    package func openView(_ key: String) async throws {
        _ = try await self.send(["Type": .string(NotificationMessage.open), "Key": .string(key)])
    }

    package func respond(_ key: String, _ action: NotificationActionIdentifier, text: String?) async throws {
        var message: ValueSet = [
            "Type": .string(NotificationMessage.respond), "Key": .string(key), "Action": .string(action.rawValue),
        ]
        if let text { message["Text"] = .string(text) }
        _ = try await self.send(message)
    }

    /// Hides a notification on all systems of the user until a later time.
    ///
    /// - Parameter seconds: the time from now. Valid range: ``snoozeSeconds``.
    /// - Returns: the date at which it is shown again. An earlier snooze may last longer.
    package func snooze(_ key: String, for seconds: Int) async throws -> Date? {
        let response = try await self.send([
            "Type": .string(NotificationMessage.snooze), "Key": .string(key), "Seconds": .integer(Int64(seconds)),
        ])
        return response["Date"]?.date
    }

    /// The time for which a notification can be snoozed, in seconds.
    package static let snoozeSeconds = NotificationReceiver.snoozeSeconds

    /// Marks notifications as read on all systems of the user. They still wait.
    ///
    /// - Parameter keys: those that are marked; `nil` for all.
    /// - Returns: how many were not read before.
    package func markRead(_ keys: [String]?) async throws -> Int {
        var message: ValueSet = ["Type": .string(NotificationMessage.read)]
        if let keys { message["Keys"] = .array(keys.map { .string($0) }) }
        return try await self.send(message)["Count"]?.int ?? 0
    }

    /// - Throws: ``NotificationError`` if the host daemon refused the request.
    private func send(_ message: ValueSet) async throws -> ValueSet {
        do {
            return try await self.connection.send(message).get()
        } catch let error as RemoteSystemError {
            guard let code = error.failureCode.flatMap(NotificationMessage.code(ofFailure:)) else { throw error }
            throw NotificationError(code, error.message)
        }
    }

    package func close() async { await self.connection.close() }
}
