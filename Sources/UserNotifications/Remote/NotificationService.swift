// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// The service of the host daemon that receives notifications.
struct NotificationService: AppServiceProvider {
    let receiver: NotificationReceiver
    let refusals: RefusalLog

    func respond(to request: AppServiceRequest) async throws -> ValueSet {
        do throws(NotificationError) {
            return try await self.response(to: request)
        } catch {
            throw AppServiceFailure(
                "\(error)",
                code: NotificationMessage.failureCode(error.code),
                canRetry: error.canRetry
            )
        }
    }

    private func response(to request: AppServiceRequest) async throws(NotificationError) -> ValueSet {
        let message = request.message
        let unknown = NotificationError(.requestUnknown, "The request is unknown to this version.")
        guard let type = message["Type"]?.string, let callers = NotificationMessage.callers[type] else { throw unknown }
        try self.check(type, callers, request.caller)
        let reader = FieldReader(message)
        let sender = NotificationReceiver.sender(request.caller)
        switch type {
        case NotificationMessage.deliver:
            return try await self.receiver.deliver(message, from: request.caller, over: request.connection).valueSet
        case NotificationMessage.withdraw:
            let identifiers = try reader.strings("Ids", max: ReceivedNotifications.maxPerSystem)
            let delivery = try reader.uuid("Delivery")
            return .counted(await self.receiver.withdraw(identifiers, deliveryID: delivery, by: request.caller))
        case NotificationMessage.resume:
            let identifiers = try reader.strings("Ids", max: ReceivedNotifications.maxPerSystem)
            let delivery = try reader.uuid("Delivery")
            let isForeground = try reader.bool("Foreground") ?? false
            return await self.receiver.resume(
                identifiers,
                deliveryID: delivery,
                request.caller,
                isForeground: isForeground && request.caller.isLocal,
                over: request.connection
            ).valueSet
        case NotificationMessage.list:
            let own = try reader.bool("Own") == true ? sender : nil
            return try NotificationPage(await self.receiver.list(), own: own, after: try reader.string("After"))
                .valueSet
        case NotificationMessage.watch:
            try await self.receiver.watch(request.connection)
            return try NotificationPage(await self.receiver.list(), own: nil, after: try reader.string("After"))
                .valueSet
        case NotificationMessage.open:
            try await self.receiver.openView(try reader.requiredString("Key"))
            return [:]
        case NotificationMessage.schedule:
            return .dated(try await self.receiver.schedule(message, by: sender))
        case NotificationMessage.pending:
            let own = try reader.bool("Own") == true ? sender : nil
            let entries = await self.receiver.pending(for: request.caller)
            return try NotificationPage(entries, own: own, after: try reader.string("After")).valueSet
        case NotificationMessage.cancel:
            let identifiers = try reader.strings("Ids", max: NotificationLimits.pendingRequests)
            var owner = sender
            owner.application = try reader.string("Application") ?? sender.application
            return .counted(try await self.receiver.cancel(identifiers, of: owner))
        case NotificationMessage.permissions:
            let permissions = await self.receiver.permissions
            let own = permissions.permission(of: sender)
            return NotificationMessage.permissions(permissions, await self.receiver.refusals, own: own)
        case NotificationMessage.permit:
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
            return try await self.receiver.history(after: try reader.string("After")).valueSet
        case NotificationMessage.forget:
            return .counted(try await self.receiver.forget(try reader.string("Key")))
        case NotificationMessage.post:
            try await self.receiver.post(message, by: sender)
            return [:]
        case NotificationMessage.posted:
            let own = try reader.bool("Own") == true ? sender.application : nil
            return try NotificationPage(await self.receiver.posted(), own: own, after: try reader.string("After"))
                .valueSet
        case NotificationMessage.unpost:
            let identifiers = try reader.strings("Ids", max: Outbox.maxPerSystem)
            let own = try reader.bool("Own") == true ? sender.application : nil
            return .counted(try await self.receiver.unpost(Set(identifiers), of: own))
        case NotificationMessage.badge:
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
            return await self.receiver.use(delivery, for: request.caller.systemID)
        case NotificationMessage.respond:
            try await self.receiver.respond(
                try reader.requiredString("Key"),
                NotificationActionIdentifier(try reader.requiredString("Action")),
                text: try reader.string("Text")
            )
            return [:]
        case NotificationMessage.snooze:
            let seconds = try reader.int("Seconds") ?? 0
            return .dated(try await self.receiver.snooze(try reader.requiredString("Key"), for: seconds))
        case NotificationMessage.read:
            let isAll = message["Keys"] == nil
            let keys = isAll ? nil : try reader.strings("Keys", max: ReceivedNotifications.max)
            return .counted(await self.receiver.markRead(keys))
        default:
            throw unknown
        }
    }

    private func check(_ type: String, _ callers: RequestCallers, _ caller: AppServiceCaller) throws(NotificationError)
    {
        guard !self.refusals.permits(type, of: NotificationMessage.service, by: caller, callers) else { return }
        let text =
            switch callers {
            case .sameSystem: "Only programs of the same system read and answer its notifications."
            case .accountDaemons: "Only the daemons of the user's own systems ask for this."
            case .account, .all: "Only systems of the same account send files, and read what is scheduled."
            }
        throw NotificationError(.notAuthorized, text)
    }

    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
        let id = ObjectIdentifier(connection)
        Task { await self.receiver.ended(id) }
    }
}
