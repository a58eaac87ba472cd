// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// A call of a program on the bus.
enum ActivityBusCall: Sendable, Equatable {
    case register(application: String, activityTypes: [String])
    case offer(type: String, title: String, content: ValueSet, options: ValueSet)
    case update(id: String, title: String, content: ValueSet)
    case withdraw(id: String)
    case list
    /// - Parameters:
    ///   - system: the id of the system that offers the activity; `nil` for any.
    ///   - origin: the id of the application that offers it; `nil` for any.
    ///   - application: the application that is to continue it; empty for the only one.
    case `continue`(id: String, system: String? = nil, origin: String? = nil, application: String)
}

extension ActivityBusCall: BusCall {
    static func needsRegistration(_ method: String) -> Bool { ["Offer", "Update", "Withdraw"].contains(method) }

    init(_ method: String, _ arguments: BusArguments) throws(BusCallError) {
        let texts = arguments.texts
        switch method {
        case "Register": self = .register(application: texts[0], activityTypes: arguments.texts(at: 1))
        case "Offer":
            self = .offer(
                type: texts[0],
                title: texts[1],
                content: try arguments.dictionary(at: 2),
                options: try arguments.dictionary(at: 3)
            )
        case "Update": self = .update(id: texts[0], title: texts[1], content: try arguments.dictionary(at: 2))
        case "Withdraw": self = .withdraw(id: texts[0])
        case "List": self = .list
        case "Continue": self = .continue(id: texts[0], application: texts[1])
        case "ContinueFrom": self = .continue(id: texts[0], system: texts[1], application: texts[2])
        case "ContinueOffer":
            self = .continue(id: texts[0], system: texts[1], origin: texts[2], application: texts[3])
        default: throw .unknownMethod(method)
        }
    }
}
