// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
package import Logging
package import RemoteSystems
internal import ServiceLifecycle

/// Offers the host daemon's socket on the session bus, while there is one.
///
/// A caller gets a descriptor of the socket that was opened with `O_PATH`, and connects by it. So the kernel reports
/// the program that connects, not the bus or the caller: nothing depends on what the bus says about its callers.
package struct RegistryBus: Service {
    private let host: RemoteSystemHost
    private let system: SystemID
    private let logger: Logger

    package init(host: RemoteSystemHost, system: SystemID, logger: Logger) {
        self.host = host
        self.system = system
        self.logger = logger
    }

    /// Serves until cancelled, or until a graceful shutdown. Does nothing where no session bus is known.
    package func run() async throws {
        try await BusLoop.keepServing("The host daemon is not on the session bus", self.logger) {
            // Before that there is no socket.
            _ = try? await self.host.port
            return await self.serve()
        }
    }

    /// Serves until the bus ends or the task is cancelled.
    private func serve() async -> Result<Void, MessageBus.Failure> {
        let serving = Serving(host: self.host, system: self.system)
        return await withTaskCancellationHandler {
            await BlockingCalls.run { Result { () throws(MessageBus.Failure) in try serving.run() } }
        } onCancel: {
            serving.stop()
        }
    }
}

/// One connection to the bus.
private final class Serving: Sendable {
    private let host: RemoteSystemHost
    private let system: String
    private let loop = BusLoop()

    init(host: RemoteSystemHost, system: SystemID) {
        self.host = host
        self.system = system.description
    }

    func stop() { self.loop.stop() }

    func run() throws(MessageBus.Failure) {
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            unsafe try self.offerMethod(connection)
            unsafe try self.loop.requestName(RegistryName.bus, connection)
        }
    }

    private func offerMethod(_ connection: OpaquePointer) throws(MessageBus.Failure) {
        var error: UnsafeMutablePointer<GError>?
        guard let node = unsafe g_dbus_node_info_new_for_xml(RegistryName.interface, &error) else {
            throw unsafe MessageBus.failure(error)
        }
        defer { unsafe g_dbus_node_info_unref(node) }
        var table = GDBusInterfaceVTable()
        unsafe table.method_call = { _, _, _, _, _, parameters, invocation, data in
            guard let data = unsafe data else { return }
            unsafe Unmanaged<Serving>.fromOpaque(data).takeUnretainedValue().respond(parameters, invocation)
        }
        let number = unsafe g_dbus_connection_register_object(
            connection,
            RegistryName.path,
            node.pointee.interfaces[0],
            &table,
            Unmanaged.passRetained(self).toOpaque(),
            { data in if let data = unsafe data { unsafe Unmanaged<Serving>.fromOpaque(data).release() } },
            &error
        )
        guard number != 0 else { throw unsafe MessageBus.failure(error) }
    }

    private func respond(_ parameters: OpaquePointer?, _ invocation: OpaquePointer?) {
        guard let parameters = unsafe parameters, unsafe BusSignal.texts(of: parameters) == [self.system] else {
            unsafe g_dbus_method_invocation_return_dbus_error(
                invocation,
                RegistryName.otherSystem,
                "This host daemon belongs to another system."
            )
            return
        }
        guard let socket = self.host.openRegistrySocket() else {
            unsafe g_dbus_method_invocation_return_dbus_error(
                invocation,
                RegistryName.unavailable,
                "This host daemon does not accept registrations."
            )
            return
        }
        // Takes over the descriptor.
        let descriptors = unsafe g_unix_fd_list_new_from_array([socket], 1)
        unsafe g_dbus_method_invocation_return_value_with_unix_fd_list(
            invocation,
            g_variant_new_tuple([g_variant_new_handle(0)], 1),
            descriptors
        )
        if let descriptors = unsafe descriptors { unsafe g_object_unref(UnsafeMutableRawPointer(descriptors)) }
    }
}
