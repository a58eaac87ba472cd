// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import ValueSets

/// A notification for other systems.
public struct RemoteNotification: Sendable, Hashable {
    /// The identifier and the texts. A later notification of the same application and system with the same identifier
    /// replaces this one.
    public var request: NotificationRequest
    /// The category, with the actions; `nil` for none. Defaults to `nil`.
    public var category: NotificationCategory?
    /// The sender's name as the user sees it; `nil` for its application id. Defaults to `nil`.
    public var applicationName: String?
    /// The time after which the receiving system withdraws the notification, in whole seconds. Defaults to `nil`: it
    /// stays until the user responds or the sender withdraws it; with a ``deliveryID`` for at most 30 days.
    /// Valid range: 1 s–30 days.
    public var expiration: Duration?
    /// Whether the sender takes no responses, for example because it ends once it has sent the notification. A response
    /// of the user then only ends the notification. Defaults to `false`.
    public var isOneWay: Bool
    /// Identifies the notification on all systems of the user that receive it. When the user responds to it on one of
    /// them, dismisses it, or the sender withdraws it there, it disappears from the others, also from those that are
    /// away at that time. Defaults to a new id; `nil` for a notification that ends on each system by itself.
    ///
    /// A notification that has ended is withheld when it is sent again with the same id. To remind the user, or to send
    /// another one, use a new id. With an id, each system withdraws the notification after 30 days at the latest.
    public var deliveryID: UUID?
    /// Whether several systems of the user receive the notification, with the same ``deliveryID``. Then only the one
    /// in use makes its sound: the one that the user has used last, within two minutes. If there is none, all do, and
    /// also at the level ``NotificationInterruptionLevel/critical``. Defaults to `false`: every system that receives it
    /// makes its sound.
    public var isShared: Bool
    /// Whether the receiving application may change the content before it is shown. Defaults to `false`.
    public var isMutable: Bool
    /// Whether an application of the receiving system is to update its content (``targetApplicationID``). Without a
    /// text, the user sees nothing, and the delivery ends when the application has handled it. Defaults to `false`.
    ///
    /// The application is started if it is installed and does not run. It receives a ``ContentUpdate``. Systems of
    /// linked accounts start no application.
    public var isContentAvailable: Bool
    /// The id of the application that is to update its content (``isContentAvailable``). Defaults to `nil`: the
    /// application with the sender's id.
    public var targetApplicationID: String?

    /// Creates a notification for other systems.
    ///
    /// - Parameters:
    ///   - request: The identifier and the texts.
    ///   - category: The category, with the actions. Defaults to `nil`.
    public init(_ request: NotificationRequest, category: NotificationCategory? = nil) {
        self.request = request
        self.category = category
        self.applicationName = nil
        self.expiration = nil
        self.isOneWay = false
        self.deliveryID = UUID()
        self.isShared = false
        self.isMutable = false
        self.isContentAvailable = false
        self.targetApplicationID = nil
    }

    static let maxExpiration: Int64 = 30 * 86_400

    /// Checks every field and the size.
    ///
    /// - Throws: ``NotificationError`` that names the field, or with `payloadTooLarge`.
    public func validate() throws(NotificationError) {
        do throws(NotificationError) {
            try self.request.validate()
        } catch {
            throw self.statingWholeSize(error)
        }
        guard self.request.trigger == nil else {
            throw NotificationError(
                .triggerInvalid,
                "Another system delivers a notification at once. Send it when it is due.",
                field: "trigger"
            )
        }
        try self.validateFields()
        try Self.checkSize(of: self.valueSet)
    }

    /// An error about a text, with the limit of the whole, which is smaller than that of a body.
    private func statingWholeSize(_ error: NotificationError) -> NotificationError {
        let content = self.request.content
        let size = content.title.utf8.count + content.subtitle.utf8.count + content.body.utf8.count
        guard error.code == .limitExceeded, size > NotificationLimits.remotePayloadBytes else { return error }
        var error = error
        error.message +=
            " A notification for another system has at most \(NotificationLimits.remotePayloadBytes) bytes "
            + "in all, with its actions."
        return error
    }

    private func validateFields() throws(NotificationError) {
        if let category {
            do throws(NotificationError) {
                try category.validate()
            } catch {
                throw error.inside("category")
            }
            guard category.identifier == self.request.content.categoryIdentifier else {
                throw NotificationError(
                    .categoryUnknown,
                    "The content names another category than the one that is sent.",
                    field: "content.categoryIdentifier"
                )
            }
        }
        if let applicationName { try FieldCheck.identifier(applicationName, "applicationName") }
        if let targetApplicationID { try FieldCheck.identifier(targetApplicationID, "targetApplicationID") }
        if let expiration {
            let seconds = expiration.components.seconds
            guard (1...Self.maxExpiration).contains(seconds), expiration.components.attoseconds == 0 else {
                throw NotificationError(
                    .limitExceeded,
                    "The expiration must be a whole number of seconds from 1 to \(Self.maxExpiration) (30 days).",
                    field: "expiration"
                )
            }
        }
    }

    /// The application of the receiving system that it belongs to, which may not be installed there.
    func application(of sender: NotificationSender) -> String { self.targetApplicationID ?? sender.application }

    /// Whether the command of this SDK has sent it, without a name. Only the system is shown as the sender then, in
    /// place of the internal id of the command.
    package func isOfCommand(_ application: String) -> Bool {
        self.applicationName == nil
            && ["remote-systems.command.notify", "remote-systems.command.notifications"].contains(application)
    }

    static func checkSize(of set: ValueSet) throws(NotificationError) {
        do throws(NotificationError) {
            try FieldCheck.size(of: set, "", max: NotificationLimits.remotePayloadBytes)
        } catch {
            guard error.code == .limitExceeded else { throw error }
            throw NotificationError(
                .payloadTooLarge,
                "The notification is larger than \(NotificationLimits.remotePayloadBytes) bytes. Shorten the texts, "
                    + "or send a reference to the data in the user info."
            )
        }
    }
}

extension RemoteNotification {
    /// The notification as a value set. Fields with their default values are omitted.
    public var valueSet: ValueSet {
        var set: ValueSet = [
            "Id": .string(self.request.identifier), "Content": .dictionary(self.request.content.valueSet),
        ]
        if let category { set["Category"] = .dictionary(category.valueSet) }
        set.put(self.applicationName, "Name")
        if let expiration { set["ExpiresIn"] = .integer(expiration.components.seconds) }
        if self.isOneWay { set["OneWay"] = true }
        if let deliveryID { set["Delivery"] = .uuid(deliveryID) }
        if self.isShared { set["Shared"] = true }
        if self.isMutable { set["Mutable"] = true }
        if self.isContentAvailable { set["ContentAvailable"] = true }
        set.put(self.targetApplicationID, "ForApplication")
        return set
    }

    /// Creates a notification from a value set, and checks every field and the size.
    ///
    /// The key `Payload` may have a payload in the form of Apple's push service in place of `Content`
    /// (``RemotePayload``). Unknown keys are ignored.
    ///
    /// - Parameter set: The value set.
    /// - Throws: ``NotificationError`` that names the field.
    public init(_ set: ValueSet) throws(NotificationError) {
        try Self.checkSize(of: set)
        try self.init(anySize: set)
        try self.validate()
    }

    /// Creates a notification of this system, which may be larger than one of another system and have a trigger.
    init(local set: ValueSet) throws(NotificationError) {
        try self.init(anySize: set)
        do throws(NotificationError) {
            self.request.trigger = try FieldReader(set).dictionary("Trigger").map { set throws(NotificationError) in
                try NotificationTrigger(set)
            }
        } catch {
            throw error.inside("Trigger")
        }
        try self.request.validate()
        try self.validateFields()
    }

    /// The notification with its trigger.
    var localValueSet: ValueSet {
        var set = self.valueSet
        if let trigger = self.request.trigger { set["Trigger"] = .dictionary(trigger.valueSet) }
        return set
    }

    private init(anySize set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        var payload: RemotePayload?
        let content: NotificationContent
        if let aps = try reader.dictionary("Payload") {
            do throws(NotificationError) {
                let read = try RemotePayload(aps)
                payload = read
                content = read.content
            } catch {
                throw error.inside("Payload")
            }
        } else {
            do throws(NotificationError) {
                content = try NotificationContent(try reader.dictionary("Content") ?? [:])
            } catch {
                throw error.inside("Content")
            }
        }
        self.init(NotificationRequest(identifier: try reader.requiredString("Id"), content: content))
        if let category = try reader.dictionary("Category") {
            do throws(NotificationError) {
                self.category = try NotificationCategory(category)
            } catch {
                throw error.inside("Category")
            }
        }
        self.applicationName = try reader.string("Name")
        self.expiration = try reader.int("ExpiresIn").map { .seconds($0) }
        self.isOneWay = try reader.bool("OneWay") ?? false
        self.deliveryID = try reader.uuid("Delivery")
        self.isShared = try reader.bool("Shared") ?? false
        self.isMutable = try reader.bool("Mutable") ?? payload?.isMutable ?? false
        self.isContentAvailable = try reader.bool("ContentAvailable") ?? payload?.isContentAvailable ?? false
        self.targetApplicationID = try reader.string("ForApplication")
    }
}
