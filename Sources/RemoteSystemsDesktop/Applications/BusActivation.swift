// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Dispatch

/// Has others start something: the message bus, the service manager over the bus, or the desktop's own launcher.
///
/// GIO's calls block; each runs on a queue of its own and takes a bounded time.
struct BusActivation: Sendable {
    private static let queue = DispatchQueue(label: "remote-systems.activation", attributes: .concurrent)
    /// How long the bus may take to answer.
    private static let milliseconds: Int32 = 10_000

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

    /// Launches a desktop entry as the desktop's menu does, with nothing to open.
    func launchEntry(_ id: String) async throws {
        try await self.perform { cancellable throws(StartFailure) in
            guard let entry = unsafe g_desktop_app_info_new(id) else {
                throw StartFailure("There is no desktop entry \(id), or what it runs is not installed.")
            }
            defer { unsafe g_object_unref(UnsafeMutableRawPointer(entry)) }
            var error: UnsafeMutablePointer<GError>?
            guard unsafe g_app_info_launch(entry, nil, nil, &error) != 0 else {
                throw unsafe Self.failure("The desktop entry \(id) was not launched", error)
            }
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

        /// Belongs to whoever takes it.
        var variant: OpaquePointer? {
            switch self {
            case .string(let text): unsafe g_variant_new_string(text)
            case .uint32(let number): unsafe g_variant_new_uint32(number)
            }
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
        return StartFailure("\(what): \(unsafe String(cString: error.pointee.message)).")
    }

    /// Cancelling the task ends the call, also one to a bus that takes a connection and never says a word.
    private func perform(_ body: @escaping @Sendable (Cancellable) throws(StartFailure) -> Void) async throws {
        let cancellable = Cancellable()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Self.queue.async {
                    do throws(StartFailure) {
                        try body(cancellable)
                        continuation.resume()
                    } catch {
                        continuation.resume(throwing: error)
                    }
                }
            }
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
