// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// The messages of the service that receives notifications (`Docs/wire/notifications.md`).
enum NotificationMessage {
    static let service = "org.remotesystems.notifications"
    /// The service as its callers describe it.
    static let description = AppServiceDescription(
        name: Self.service,
        requestSchema: .full,
        responseSchema: .full,
        pushRequestSchema: .full,
        pushResponseSchema: .full
    )

    // The values of a request's `Type`.
    static let deliver = "deliver"
    static let withdraw = "withdraw"
    static let resume = "resume"
    static let list = "list"
    static let watch = "watch"
    static let respond = "respond"
    static let snooze = "snooze"
    static let read = "read"
    static let open = "open"
    static let schedule = "schedule"
    static let pending = "pending"
    static let cancel = "cancel"
    static let permissions = "permissions"
    static let permit = "permit"
    static let history = "history"
    static let forget = "forget"
    static let use = "use"
    static let post = "post"
    static let posted = "posted"
    static let unpost = "unpost"
    static let attach = "attach"
    static let badge = "badge"
    // Those of the requests that the service sends.
    static let response = "response"
    static let event = "event"
    static let present = "present"
    static let ended = "ended"
    static let update = "update"

    static func deliver(_ notification: RemoteNotification) -> ValueSet {
        var message = notification.localValueSet
        message["Type"] = .string(Self.deliver)
        return message
    }

    /// Hands over a notification for systems that are away.
    static func post(_ notification: RemoteNotification, to systems: [String]) -> ValueSet {
        [
            "Type": .string(Self.post), "Notification": .dictionary(notification.valueSet),
            "Systems": .array(systems.map { .string($0) }),
        ]
    }

    static func unpost(_ identifiers: [String]) -> ValueSet {
        ["Type": .string(Self.unpost), "Ids": .array(identifiers.map { .string($0) })]
    }

    /// - Parameter deliveryID: the only delivery that it concerns; `nil` for any.
    static func withdraw(_ identifiers: [String], deliveryID: UUID? = nil) -> ValueSet {
        var message: ValueSet = ["Type": .string(Self.withdraw), "Ids": .array(identifiers.map { .string($0) })]
        if let deliveryID { message["Delivery"] = .uuid(deliveryID) }
        return message
    }

    /// - Parameters:
    ///   - deliveryID: the only delivery that it concerns; `nil` for any.
    ///   - isForeground: whether the sender decides how its notifications are shown.
    static func resume(_ identifiers: [String], deliveryID: UUID? = nil, isForeground: Bool = false) -> ValueSet {
        var message: ValueSet = ["Type": .string(Self.resume), "Ids": .array(identifiers.map { .string($0) })]
        if let deliveryID { message["Delivery"] = .uuid(deliveryID) }
        if isForeground { message["Foreground"] = true }
        return message
    }

    /// The file of an attachment follows over a stream.
    static func attach(_ attachment: NotificationAttachment) -> ValueSet {
        [
            "Type": .string(Self.attach), "Digest": .data(Data(attachment.digest.bytes)),
            "Size": .integer(attachment.byteCount),
        ]
    }

    static func present(_ notification: RemoteNotification) -> ValueSet {
        var message = notification.localValueSet
        message.putFiles(of: notification.request.content)
        message["Type"] = .string(Self.present)
        return message
    }

    static func update(_ update: ContentUpdate) -> ValueSet {
        var message = update.valueSet
        message["Type"] = .string(Self.update)
        return message
    }

    static func response(_ response: NotificationResponse) -> ValueSet {
        ["Type": .string(Self.response), "Response": .dictionary(response.valueSet)]
    }

    /// A notification has ended without a response.
    static func ended(_ notification: RemoteNotification) -> ValueSet {
        var message: ValueSet = ["Type": .string(Self.ended), "Id": .string(notification.request.identifier)]
        if let deliveryID = notification.deliveryID { message["Delivery"] = .uuid(deliveryID) }
        return message
    }

    /// Asks a system that may show the same notification since when it was not used.
    static func use(_ key: NotificationState.Key) -> ValueSet {
        ["Type": .string(Self.use), "Delivery": .string(key.digest)]
    }

    static func event(_ event: String, _ entry: ReceivedNotifications.Entry) -> ValueSet {
        [
            "Type": .string(Self.event), "Event": .string(event),
            "Notification": .dictionary(entry.listed(withUserInfo: false)),
        ]
    }

    static func schedule(_ notification: RemoteNotification) -> ValueSet {
        var message = notification.localValueSet
        message["Type"] = .string(Self.schedule)
        return message
    }

    /// - Parameter own: the permission of the program that asks.
    static func permissions(
        _ permissions: NotificationPermissions,
        _ refusals: NotificationRefusals,
        own: NotificationPermission
    ) -> ValueSet {
        let list = permissions.all.map { subject, permission, perHour in
            var set: ValueSet = ["Permission": .string(permission.rawValue)]
            set.put(subject.system, "System")
            set.put(subject.application, "Application")
            if let perHour { set["PerHour"] = .integer(Int64(perHour)) }
            return Value.dictionary(set)
        }
        let refused = refusals.counts.map { sender, counts in
            var set: ValueSet = ["System": .string(sender.systemID), "Application": .string(sender.application)]
            for (reason, count) in counts { set[reason.rawValue] = .integer(Int64(count)) }
            return Value.dictionary(set)
        }
        return ["Permissions": .array(list), "Refused": .array(refused), "Own": .string(own.rawValue)]
    }

    static func permit(
        _ permission: NotificationPermission,
        perHour: Int?,
        system: String?,
        application: String?
    ) -> ValueSet {
        var message: ValueSet = ["Type": .string(Self.permit), "Permission": .string(permission.rawValue)]
        if let perHour { message["PerHour"] = .integer(Int64(perHour)) }
        message.put(system, "System")
        message.put(application, "Application")
        return message
    }

    static func cancel(_ identifiers: [String], of application: String?) -> ValueSet {
        var message: ValueSet = ["Type": .string(Self.cancel), "Ids": .array(identifiers.map { .string($0) })]
        message.put(application, "Application")
        return message
    }

    /// The code of an error that a service of this version has sent.
    static func code(ofFailure failureCode: String) -> NotificationError.Code? {
        NotificationError.Code.all.first { Self.failureCode($0) == failureCode }
    }

    static func failureCode(_ code: NotificationError.Code) -> String {
        let words = code.description.reduce(into: "") { text, character in
            text += character.isUppercase ? "-\(character.lowercased())" : "\(character)"
        }
        return "\(Self.service).\(words)"
    }
}
