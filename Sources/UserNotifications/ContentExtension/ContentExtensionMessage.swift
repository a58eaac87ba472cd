// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import UserNotificationsUI
internal import ValueSets

/// What the host daemon sends a content extension: lines of JSON, in the form that keeps the types.
enum ContentExtensionRequest: Hashable {
    /// The first line.
    case notification(DeliveredNotification)
    case response(NotificationCardResponse)
    case change(NotificationCardChange)

    /// The first line.
    static func line(_ entry: ReceivedNotifications.Entry) throws(NotificationError) -> String {
        var set = entry.listed(withUserInfo: true)
        // Of the list of the daemon only.
        for key in ["Shown", "Delivery", "OneWay"] { set[key] = nil }
        return try ValueSet.line(["Notification": .dictionary(set)])
    }

    var line: String {
        get throws(NotificationError) {
            switch self {
            case .notification(let notification):
                var set = RemoteNotification(notification.request, category: notification.category).localValueSet
                set["Date"] = .date(notification.date)
                set.putFiles(of: notification.request.content)
                return try ValueSet.line(["Notification": .dictionary(set)])
            case .response(let response):
                var set: ValueSet = [
                    "Action": .string(response.actionIdentifier.rawValue), "Values": .dictionary(response.values),
                ]
                if let text = response.userText { set["Text"] = .string(text) }
                return try ValueSet.line(["Response": .dictionary(set)])
            case .change(let change):
                return try ValueSet.line([
                    "Change": ["Id": .string(change.identifier), "Values": .dictionary(change.values)]
                ])
            }
        }
    }

    init(_ line: String) throws(NotificationError) {
        let reader = FieldReader(try ValueSet(line: line))
        if let set = try reader.dictionary("Notification") {
            let notification = try RemoteNotification(listed: set)
            self = .notification(
                DeliveredNotification(
                    request: notification.request,
                    category: notification.category,
                    date: set["Date"]?.date ?? .now
                )
            )
        } else if let set = try reader.dictionary("Response") {
            let reader = FieldReader(set)
            self = .response(
                NotificationCardResponse(
                    actionIdentifier: NotificationActionIdentifier(try reader.requiredString("Action")),
                    userText: try reader.string("Text"),
                    values: try reader.dictionary("Values") ?? [:]
                )
            )
        } else if let set = try reader.dictionary("Change") {
            let reader = FieldReader(set)
            self = .change(
                NotificationCardChange(
                    identifier: try reader.requiredString("Id"),
                    values: try reader.dictionary("Values") ?? [:]
                )
            )
        } else {
            throw NotificationError(.requestUnknown, "The line is unknown to this version.")
        }
    }
}

/// What a content extension writes, a line of JSON. Each at any time.
enum ContentExtensionReply: Hashable {
    case card(NotificationCard)
    case actions([NotificationAction])
    /// Completes the response to an action.
    case option(ContentExtensionResponseOption)
    case performDefaultAction

    var line: String {
        get throws(NotificationError) {
            switch self {
            case .card(let card): return try ValueSet.line(["Card": .dictionary(card.valueSet)])
            case .actions(let actions):
                return try ValueSet.line(["Actions": .array(actions.map { .dictionary($0.valueSet) })])
            case .option(let option): return try ValueSet.line(["Option": .string(option.rawValue)])
            case .performDefaultAction: return try ValueSet.line(["PerformDefaultAction": true])
            }
        }
    }

    /// Reads a line, which may have several of them.
    static func read(_ line: String) throws(NotificationError) -> [ContentExtensionReply] {
        let reader = FieldReader(try ValueSet(line: line))
        var replies: [ContentExtensionReply] = []
        if let card = try reader.dictionary("Card") {
            do throws(NotificationCardError) {
                replies.append(.card(try NotificationCard(card)))
            } catch {
                throw NotificationError(.invalidContent, error.message, field: "Card.\(error.field)")
            }
        }
        if reader.set["Actions"] != nil {
            var actions: [NotificationAction] = []
            for set in try reader.dictionaries("Actions", max: NotificationLimits.actions) {
                actions.append(try NotificationAction(set))
            }
            replies.append(.actions(actions))
        }
        if let text = try reader.string("Option") {
            guard let option = ContentExtensionResponseOption(rawValue: text) else {
                let known = ContentExtensionResponseOption.allCases.map(\.rawValue).joined(separator: ", ")
                throw NotificationError(.invalidContent, "The option must be one of \(known).", field: "Option")
            }
            replies.append(.option(option))
        }
        if try reader.bool("PerformDefaultAction") == true { replies.append(.performDefaultAction) }
        guard !replies.isEmpty else {
            throw NotificationError(
                .invalidContent,
                "The line has none of Card, Actions, Option, PerformDefaultAction and Schedule."
            )
        }
        return replies
    }
}

extension ValueSet {
    static func line(_ set: ValueSet) throws(NotificationError) -> String {
        do throws(ValueSetError) {
            return try set.json()
        } catch {
            throw NotificationError(.invalidContent, "\(error)")
        }
    }

    fileprivate init(line: String) throws(NotificationError) {
        do throws(ValueSetError) {
            self = try ValueSet(json: line)
        } catch {
            throw NotificationError(.invalidContent, "The line must be JSON, and nothing else. \(error)")
        }
    }
}
