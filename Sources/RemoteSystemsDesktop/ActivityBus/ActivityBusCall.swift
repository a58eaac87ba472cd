// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import ValueSets

/// A call of a program on the bus.
enum ActivityBusCall: Sendable, Equatable {
    case register(application: String, activityTypes: [String])
    case offer(type: String, title: String, content: ValueSet, options: ValueSet)
    case update(id: String, title: String, content: ValueSet)
    case withdraw(id: String)
    case list
    case `continue`(id: String, application: String)
}

extension ActivityBusCall {
    /// Reads the arguments, whose types GLib has compared with the interface.
    init(_ method: String, _ arguments: OpaquePointer) throws(ActivityBusError) {
        let texts = unsafe BusSignal.texts(of: arguments)
        switch method {
        case "Register":
            self = .register(application: texts[0], activityTypes: unsafe Self.strings(arguments, 1))
        case "Offer":
            self = .offer(
                type: texts[0],
                title: texts[1],
                content: unsafe try Self.dictionary(arguments, 2),
                options: unsafe try Self.dictionary(arguments, 3)
            )
        case "Update":
            self = .update(id: texts[0], title: texts[1], content: unsafe try Self.dictionary(arguments, 2))
        case "Withdraw": self = .withdraw(id: texts[0])
        case "List": self = .list
        case "Continue": self = .continue(id: texts[0], application: texts[1])
        default: throw ActivityBusError(code: "unknownMethod", message: "There is no method \(method).")
        }
    }

    private static func dictionary(_ tuple: OpaquePointer, _ index: Int) throws(ActivityBusError) -> ValueSet {
        guard let value = unsafe g_variant_get_child_value(tuple, gsize(index)) else { return [:] }
        defer { unsafe g_variant_unref(value) }
        do throws(ValueSetError) {
            return unsafe try ValueSet(gVariant: value)
        } catch {
            throw ActivityBusError(code: "invalidArgument", message: error.description)
        }
    }

    private static func strings(_ tuple: OpaquePointer, _ index: Int) -> [String] {
        guard let value = unsafe g_variant_get_child_value(tuple, gsize(index)) else { return [] }
        defer { unsafe g_variant_unref(value) }
        return unsafe BusSignal.texts(of: value)
    }
}

/// A call failed. The name ends with the code of the error.
struct ActivityBusError: Error, Equatable {
    var code: String
    var message: String
}
