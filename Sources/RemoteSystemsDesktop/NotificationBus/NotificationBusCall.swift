// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import UserNotifications
internal import ValueSets

/// A call of a program on the bus.
enum NotificationBusCall: Sendable, Equatable {
    /// The beginning of the ids of questions, by which their responses are known when their callers have gone.
    static let questionPrefix = "org.remotesystems.ask."

    case register(application: String, name: String)
    case add(NotificationRequest, NotificationCategory?)
    case remove([String])
    case list
    case acknowledge(response: String)
    case ask(application: String, NotificationRequest, NotificationCategory)
}

extension NotificationBusCall: BusCall {
    static func needsRegistration(_ method: String) -> Bool { ["Add", "Remove", "List"].contains(method) }

    init(_ method: String, _ arguments: BusArguments) throws(BusCallError) {
        let texts = arguments.texts
        switch method {
        case "Register": self = .register(application: texts[0], name: texts[1])
        case "Add":
            let parts = NotificationParts(
                id: texts[0],
                title: texts[1],
                body: texts[2],
                actions: arguments.pairs(at: 3),
                options: try arguments.dictionary(at: 4)
            )
            let (request, category) = try parts.request()
            self = .add(request, category)
        case "Remove": self = .remove(arguments.texts(at: 0))
        case "List": self = .list
        case "Acknowledge": self = .acknowledge(response: texts[0])
        case "Ask":
            var parts = NotificationParts(
                id: Self.questionPrefix + UUID().uuidString.lowercased(),
                title: texts[1],
                body: texts[2],
                actions: arguments.pairs(at: 3),
                options: try arguments.dictionary(at: 4)
            )
            guard parts.options["delay"] == nil else {
                throw .invalid("A question is shown at once. 'delay' is an option of 'Add'.")
            }
            // The call waits: its program learns each way in which the question ends.
            parts.options["dismissal"] = true
            guard case (let request, let category?) = try parts.request() else {
                throw BusCallError(code: "failed", message: "The question has no category.")
            }
            self = .ask(application: texts[0], request, category)
        default: throw .unknownMethod(method)
        }
    }
}

/// A notification as a program states it.
struct NotificationParts {
    var id: String
    var title: String
    var body: String
    /// The identifiers and titles of the actions.
    var actions: [(String, String)]
    var options: ValueSet

    /// The notification, with a category of its own if it has actions or reports its dismissal.
    func request() throws(BusCallError) -> (NotificationRequest, NotificationCategory?) {
        var content = NotificationContent(title: self.title, body: self.body)
        var trigger: NotificationTrigger?
        var category = NotificationCategory(
            identifier: Self.category,
            actions: self.actions.map { NotificationAction(identifier: .init($0), title: $1) }
        )
        // Before the options, which name actions: a call has room for thousands of both.
        do throws(NotificationError) { try category.validate() } catch { throw BusCallError(error) }
        for (key, value) in self.options {
            switch (key, value) {
            case ("subtitle", .string(let text)): content.subtitle = text
            case ("level", .string(let text)):
                guard let level = NotificationInterruptionLevel(rawValue: text) else {
                    throw .invalid("The option 'level' takes passive, active, time-sensitive or critical.")
                }
                content.interruptionLevel = level
            case ("thread", .string(let thread)): content.threadIdentifier = thread
            case ("relevance", .double(let score)): content.relevanceScore = score
            case ("sound", .bool(let hasSound)): content.sound = hasSound ? .standard : nil
            case ("badge", .integer(let number)): content.badge = Int(clamping: number)
            case ("delay", .double(let seconds)):
                guard (0.001...315_360_000).contains(seconds) else {
                    throw .invalid("The option 'delay' takes 0.001 to 315360000 seconds.")
                }
                trigger = .timeInterval(.seconds(seconds))
            case ("dismissal", .bool(let isReported)): if isReported { category.options = .customDismissAction }
            case ("text_action", .string(let id)):
                guard let index = category.actions.firstIndex(where: { $0.identifier.rawValue == id }) else {
                    throw .invalid("The option 'text_action' names none of the actions.")
                }
                category.actions[index].textInput = .init(placeholder: self.options["placeholder"]?.string ?? "")
            case ("foreground", .array(let ids)):
                guard ids.count <= category.actions.count else {
                    throw .invalid("The option 'foreground' takes each id of the actions once.")
                }
                for id in ids {
                    guard let index = category.actions.firstIndex(where: { $0.identifier.rawValue == id.string }) else {
                        throw .invalid("The option 'foreground' takes ids of the actions.")
                    }
                    category.actions[index].options.insert(.foreground)
                }
            // Read with the action.
            case ("placeholder", .string) where self.options["text_action"] != nil: break
            default: throw .invalid("The option '\(key)' is unknown, or its value has another type.")
            }
        }
        guard content.hasAlert else {
            throw BusCallError(code: "invalidContent", message: "title: The notification has no text.")
        }
        let hasCategory = !category.actions.isEmpty || !category.options.isEmpty
        if hasCategory { content.categoryIdentifier = category.identifier }
        let request = NotificationRequest(identifier: self.id, content: content, trigger: trigger)
        do throws(NotificationError) {
            try category.validate()
            try request.validate()
        } catch {
            throw BusCallError(error)
        }
        return (request, hasCategory ? category : nil)
    }

    private static let category = "bus"
}

extension BusCallError {
    init(_ error: NotificationError) {
        // The names of this interface have no prefix.
        let field = error.field.map { $0.hasPrefix("content.") ? String($0.dropFirst("content.".count)) : $0 }
        self.init(code: "\(error.code)", message: field.map { "\($0): \(error.message)" } ?? error.message)
    }
}
