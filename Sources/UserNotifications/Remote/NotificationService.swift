// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// The service of the host daemon that receives notifications.
struct NotificationService: AppServiceProvider {
    let receiver: NotificationReceiver

    func respond(to request: AppServiceRequest) async throws -> ValueSet {
        do throws(NotificationError) {
            return try await self.response(to: request)
        } catch {
            throw AppServiceFailure(
                "\(error)",
                code: NotificationMessage.failureCode(error.code),
                canRetry: error.code == .rateLimited
            )
        }
    }

    private func response(to request: AppServiceRequest) async throws(NotificationError) -> ValueSet {
        let message = request.message
        let reader = FieldReader(message)
        let sender = NotificationReceiver.sender(request.caller)
        switch message["Type"]?.string {
        case NotificationMessage.deliver:
            return try await self.receiver.deliver(message, from: request.caller, over: request.connection).valueSet
        case NotificationMessage.withdraw:
            let identifiers = try reader.strings("Ids", max: ReceivedNotifications.maxPerSystem)
            let delivery = try reader.uuid("Delivery")
            let count = await self.receiver.withdraw(identifiers, deliveryID: delivery, by: request.caller)
            return ["Count": .integer(Int64(count))]
        case NotificationMessage.resume:
            let identifiers = try reader.strings("Ids", max: ReceivedNotifications.maxPerSystem)
            let isForeground = try reader.bool("Foreground") ?? false
            return await self.receiver.resume(
                identifiers,
                request.caller,
                isForeground: isForeground && request.caller.isLocal,
                over: request.connection
            ).valueSet
        case NotificationMessage.list:
            try Self.checkIsLocal(request.caller)
            let own = try reader.bool("Own") == true ? sender : nil
            return try NotificationPage(await self.receiver.list(), own: own, after: try reader.string("After"))
                .valueSet
        case NotificationMessage.watch:
            try Self.checkIsLocal(request.caller)
            try await self.receiver.watch(request.connection)
            return try NotificationPage(await self.receiver.list(), own: nil, after: try reader.string("After"))
                .valueSet
        case NotificationMessage.open:
            try Self.checkIsLocal(request.caller)
            try await self.receiver.openView(try reader.requiredString("Key"))
            return [:]
        case NotificationMessage.schedule:
            try Self.checkIsLocal(request.caller)
            return .dated(try await self.receiver.schedule(message, by: sender))
        case NotificationMessage.pending:
            try Self.checkIsOfUser(request.caller)
            let own = try reader.bool("Own") == true ? sender : nil
            let entries = await self.receiver.pending(for: request.caller)
            return try NotificationPage(entries, own: own, after: try reader.string("After")).valueSet
        case NotificationMessage.cancel:
            try Self.checkIsLocal(request.caller)
            let identifiers = try reader.strings("Ids", max: NotificationLimits.pendingRequests)
            var owner = sender
            owner.application = try reader.string("Application") ?? sender.application
            return ["Count": .integer(Int64(try await self.receiver.cancel(identifiers, of: owner)))]
        case NotificationMessage.permissions:
            try Self.checkIsLocal(request.caller)
            let permissions = await self.receiver.permissions
            let own = permissions.permission(of: sender)
            return NotificationMessage.permissions(permissions, await self.receiver.refusals, own: own)
        case NotificationMessage.permit:
            try Self.checkIsLocal(request.caller)
            guard let permission = NotificationPermission(rawValue: try reader.requiredString("Permission")) else {
                throw NotificationError(.invalidContent, "The permission is unknown.", field: "Permission")
            }
            let subject = NotificationPermissions.Subject(
                system: try reader.string("System"),
                application: try reader.string("Application")
            )
            try await self.receiver.set(permission, perHour: try reader.int("PerHour"), for: subject)
            return [:]
        case NotificationMessage.history:
            try Self.checkIsLocal(request.caller)
            return try await self.receiver.history(after: try reader.string("After")).valueSet
        case NotificationMessage.forget:
            try Self.checkIsLocal(request.caller)
            return ["Count": .integer(Int64(try await self.receiver.forget(try reader.string("Key"))))]
        case NotificationMessage.post:
            try Self.checkIsLocal(request.caller)
            try await self.receiver.post(message, by: sender)
            return [:]
        case NotificationMessage.posted:
            try Self.checkIsLocal(request.caller)
            let own = try reader.bool("Own") == true ? sender.application : nil
            return try NotificationPage(await self.receiver.posted(), own: own, after: try reader.string("After"))
                .valueSet
        case NotificationMessage.unpost:
            try Self.checkIsLocal(request.caller)
            let identifiers = try reader.strings("Ids", max: Outbox.maxPerSystem)
            let own = try reader.bool("Own") == true ? sender.application : nil
            return ["Count": .integer(Int64(try await self.receiver.unpost(Set(identifiers), of: own)))]
        case NotificationMessage.badge:
            try Self.checkIsLocal(request.caller)
            try await self.receiver.setBadge(try reader.int("Count") ?? 0, of: sender)
            return [:]
        case NotificationMessage.attach:
            let (digest, size) = try reader.attachmentFile()
            return try await self.receiver.attach(digest, size, from: sender, over: request.connection)
        case NotificationMessage.use:
            let delivery = try reader.requiredString("Delivery")
            guard NotificationState.Key.isDigest(delivery) else {
                throw NotificationError(.invalidContent, "The digest of the delivery is not valid.", field: "Delivery")
            }
            return try await self.receiver.use(delivery, by: request.caller)
        case NotificationMessage.respond:
            try Self.checkIsLocal(request.caller)
            try await self.receiver.respond(
                try reader.requiredString("Key"),
                NotificationActionIdentifier(try reader.requiredString("Action")),
                text: try reader.string("Text")
            )
            return [:]
        case NotificationMessage.snooze:
            try Self.checkIsLocal(request.caller)
            let seconds = try reader.int("Seconds") ?? 0
            return .dated(try await self.receiver.snooze(try reader.requiredString("Key"), for: seconds))
        case NotificationMessage.read:
            try Self.checkIsLocal(request.caller)
            let isAll = message["Keys"] == nil
            let keys = isAll ? nil : try reader.strings("Keys", max: ReceivedNotifications.max)
            return ["Count": .integer(Int64(await self.receiver.markRead(keys)))]
        default:
            throw NotificationError(.requestUnknown, "The request is unknown to this version.")
        }
    }

    /// Only programs of the user's own session read and answer what was sent to the user.
    private static func checkIsLocal(_ caller: AppServiceCaller) throws(NotificationError) {
        guard caller.isLocal else {
            throw NotificationError(
                .notAuthorized,
                "Only programs of the same system read and answer its notifications."
            )
        }
    }

    /// The user's other systems read what is scheduled here, and change nothing.
    private static func checkIsOfUser(_ caller: AppServiceCaller) throws(NotificationError) {
        guard caller.isLocal || caller.authorizationKind == .sameUser else {
            throw NotificationError(
                .notAuthorized,
                "Only systems of the same account read the scheduled notifications of this one."
            )
        }
    }

    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
        let id = ObjectIdentifier(connection)
        Task { await self.receiver.ended(id) }
    }
}
