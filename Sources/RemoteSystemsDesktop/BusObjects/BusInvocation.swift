// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Synchronization

/// A method call of another program that waits for its response, which any thread may give. It gets one.
final class BusInvocation: Sendable {
    private let invocation: Mutex<Invocation?>
    private let interface: BusInterface

    /// GLib's invocation may be responded to on any thread.
    @safe private struct Invocation: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// Takes over the invocation that GLib has given to a method handler.
    init(_ pointer: OpaquePointer, _ interface: BusInterface) {
        self.invocation = Mutex(unsafe Invocation(pointer: pointer))
        self.interface = interface
    }

    deinit { self.fail(.init(code: "failed", message: "The call was given up.")) }

    func respond(_ values: [MessageBus.Argument] = []) {
        guard let invocation = self.take() else { return }
        unsafe g_dbus_method_invocation_return_value(invocation.pointer, MessageBus.tuple(values))
    }

    func fail(_ error: BusCallError) {
        guard let invocation = self.take() else { return }
        unsafe g_dbus_method_invocation_return_dbus_error(
            invocation.pointer,
            self.interface.errorName(error.code),
            error.message
        )
    }

    private func take() -> Invocation? { self.invocation.withLock { $0.take() } }
}
