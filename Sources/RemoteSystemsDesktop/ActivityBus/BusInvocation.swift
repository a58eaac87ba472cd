// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Synchronization
internal import ValueSets

/// A method call of another program that waits for its response, which any thread may give. It gets one.
///
/// The `Sendable` conformance is unchecked because of the pointer, which is used once, under the lock.
@safe final class BusInvocation: @unchecked Sendable {
    private let invocation: Mutex<Invocation?>

    /// GLib's invocation may be responded to on any thread.
    @safe private struct Invocation: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// Takes over the invocation that GLib has given to a method handler.
    init(_ pointer: OpaquePointer) { self.invocation = Mutex(unsafe Invocation(pointer: pointer)) }

    deinit { self.fail(.init(code: "failed", message: "The call was given up.")) }

    func respond(_ values: [MessageBus.Argument] = []) {
        guard let invocation = self.take() else { return }
        unsafe g_dbus_method_invocation_return_value(invocation.pointer, MessageBus.tuple(values))
    }

    func fail(_ error: ActivityBusError) {
        guard let invocation = self.take() else { return }
        unsafe g_dbus_method_invocation_return_dbus_error(
            invocation.pointer,
            ActivityBusInterface.errorName(error.code),
            error.message
        )
    }

    private func take() -> Invocation? { self.invocation.withLock { $0.take() } }
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
