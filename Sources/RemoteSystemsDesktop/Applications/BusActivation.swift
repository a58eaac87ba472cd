// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

/// Has others start something: the message bus, or the service manager over the bus.
struct BusActivation: Sendable {
    /// How long the bus may take to answer: longer than a host waits for any start, which then cancels the call.
    private static let milliseconds: Int32 = 310_000

    /// Whose bus: the user's, or the machine's where there is no user's.
    let isSession: Bool

    init(environment: [String: String]) {
        self.isSession = environment["DBUS_SESSION_BUS_ADDRESS"] != nil || environment["XDG_RUNTIME_DIR"] != nil
    }

    /// Starts whoever owns a well-known name (D-Bus Specification, `StartServiceByName`).
    func activate(_ name: String) async throws {
        try await self.perform { cancellable throws(StartFailure) in
            try self.call(
                cancellable,
                Call(
                    destination: "org.freedesktop.DBus",
                    path: "/org/freedesktop/DBus",
                    interface: "org.freedesktop.DBus",
                    method: "StartServiceByName",
                    arguments: [.string(name), .uint32(0)]
                )
            )
        }
    }

    /// Starts a unit of the service manager that is on this bus.
    func startUnit(_ unit: String) async throws {
        try await self.perform { cancellable throws(StartFailure) in
            try self.call(
                cancellable,
                Call(
                    destination: "org.freedesktop.systemd1",
                    path: "/org/freedesktop/systemd1",
                    interface: "org.freedesktop.systemd1.Manager",
                    method: "StartUnit",
                    arguments: [.string(unit), .string("replace")]
                )
            )
        }
    }

    /// Has an application come up by itself (Desktop Entry Specification, "D-Bus Activation"); the bus starts it if need be.
    func activateApplication(_ name: String, objectPath: String) async throws {
        guard unsafe g_dbus_is_name(name) != 0, unsafe g_variant_is_object_path(objectPath) != 0 else {
            throw StartFailure("\(name) is no name on a bus.")
        }
        try await self.perform { cancellable throws(StartFailure) in
            try self.call(
                cancellable,
                Call(
                    destination: name,
                    path: objectPath,
                    interface: "org.freedesktop.Application",
                    method: "Activate",
                    arguments: [.noOptions]
                )
            )
        }
    }

    private struct Call: Sendable {
        var destination: String
        var path: String
        var interface: String
        var method: String
        var arguments: [Argument]
    }

    private enum Argument: Sendable {
        case string(String)
        case uint32(UInt32)
        /// An empty `a{sv}`.
        case noOptions

        /// Belongs to whoever takes it.
        var variant: OpaquePointer? {
            switch self {
            case .string(let text): unsafe g_variant_new_string(text)
            case .uint32(let number): unsafe g_variant_new_uint32(number)
            case .noOptions: unsafe Self.emptyOptions()
            }
        }

        private static func emptyOptions() -> OpaquePointer? {
            let pair = unsafe g_variant_type_new("{sv}")
            defer { unsafe g_variant_type_free(pair) }
            return unsafe g_variant_new_array(pair, nil, 0)
        }
    }

    private func call(_ cancellable: Cancellable, _ call: Call) throws(StartFailure) {
        let what = "\(call.method) on the \(self.isSession ? "session" : "system") bus failed"
        let bus = self.isSession ? G_BUS_TYPE_SESSION : G_BUS_TYPE_SYSTEM
        var error: UnsafeMutablePointer<GError>?
        guard let address = unsafe g_dbus_address_get_for_bus_sync(bus, cancellable.object, &error) else {
            throw unsafe Self.failure(what, error)
        }
        defer { unsafe g_free(address) }
        // Not the shared connection: that one ends the process when the bus goes away.
        let flags = GDBusConnectionFlags(
            rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue
        )
        guard
            let connection = unsafe g_dbus_connection_new_for_address_sync(
                address,
                flags,
                nil,
                cancellable.object,
                &error
            )
        else { throw unsafe Self.failure(what, error) }
        defer {
            unsafe g_dbus_connection_close_sync(connection, nil, nil)
            unsafe g_object_unref(UnsafeMutableRawPointer(connection))
        }
        let values = unsafe call.arguments.map { unsafe $0.variant }
        guard
            let reply = unsafe g_dbus_connection_call_sync(
                connection,
                call.destination,
                call.path,
                call.interface,
                call.method,
                g_variant_new_tuple(values, gsize(values.count)),
                nil,
                G_DBUS_CALL_FLAGS_NONE,
                Self.milliseconds,
                cancellable.object,
                &error
            )
        else { throw unsafe Self.failure(what, error) }
        unsafe g_variant_unref(reply)
    }

    /// Takes the error.
    private static func failure(_ what: String, _ error: UnsafeMutablePointer<GError>?) -> StartFailure {
        guard let error = unsafe error else { return StartFailure("\(what).") }
        defer { unsafe g_error_free(error) }
        unsafe g_dbus_error_strip_remote_error(error)
        let message = unsafe String(cString: error.pointee.message)
        return StartFailure("\(what): \(message)\(message.hasSuffix(".") ? "" : ".")")
    }

    /// Cancelling the task ends the call, also one to a bus that takes a connection and never says a word.
    private func perform(_ body: @escaping @Sendable (Cancellable) throws(StartFailure) -> Void) async throws {
        let cancellable = Cancellable()
        try await withTaskCancellationHandler {
            try await BlockingCalls.run { Result { () throws(StartFailure) in try body(cancellable) } }.get()
        } onCancel: {
            cancellable.cancel()
        }
    }
}

/// Ends calls of GIO's that are under way, or that begin after it.
///
/// Unchecked, since the compiler cannot know of what is behind the pointer: GCancellable is made to be cancelled from any thread, and the
/// pointer never changes.
@safe private final class Cancellable: @unchecked Sendable {
    let object: UnsafeMutablePointer<GCancellable>?

    init() { unsafe self.object = g_cancellable_new() }
    deinit { unsafe g_object_unref(self.object) }

    func cancel() { unsafe g_cancellable_cancel(self.object) }
}
