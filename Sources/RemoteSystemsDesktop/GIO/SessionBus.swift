// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials

/// Calls to applications over the session's bus. They block: not to be called on Swift's thread pool.
enum SessionBus {
    /// Whether there is one.
    ///
    /// Only one whose address is known: without, GLib would start a bus of its own, which no desktop is on.
    static var isThere: Bool {
        let environment = ProcessInfo.processInfo.environment
        let runtime =
            environment["XDG_RUNTIME_DIR"].map { FileManager.default.fileExists(atPath: "\($0)/bus") } ?? false
        guard environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false || runtime else { return false }
        return (try? Self.connection()) != nil
    }

    /// Calls an application's `Open` (Desktop Entry Specification, "D-Bus Activation"), and returns when it has answered.
    /// The bus starts it if need be.
    static func open(
        _ uri: String,
        busName: String,
        objectPath: String,
        timeout: Duration
    ) throws(ActivationFailure) {
        guard unsafe g_dbus_is_name(busName) != 0, unsafe g_variant_is_object_path(objectPath) != 0 else {
            throw .error(name: "org.freedesktop.DBus.Error.ServiceUnknown")
        }
        let connection = try Self.connection()
        let parameters = unsafe Self.parameters(uri)
        let milliseconds = timeout.components.seconds * 1000 + timeout.components.attoseconds / 1_000_000_000_000_000
        var error: UnsafeMutablePointer<GError>?
        let answer = unsafe connection.with {
            unsafe g_dbus_connection_call_sync(
                $0,
                busName,
                objectPath,
                "org.freedesktop.Application",
                "Open",
                parameters,
                nil,
                G_DBUS_CALL_FLAGS_NONE,
                gint(clamping: max(milliseconds, 1)),
                nil,
                &error
            )
        }
        if let answer = unsafe answer {
            unsafe g_variant_unref(answer)
            return
        }
        defer { unsafe g_error_free(error) }
        guard let name = unsafe g_dbus_error_get_remote_error(error) else { throw .noAnswer }
        defer { unsafe g_free(name) }
        throw .error(name: unsafe String(cString: name))
    }

    private static func connection() throws(ActivationFailure) -> GObjectReference {
        guard let connection = unsafe g_bus_get_sync(G_BUS_TYPE_SESSION, nil, nil) else { throw .noBus }
        // GLib would end this process when the bus ends.
        unsafe g_dbus_connection_set_exit_on_close(connection, 0)
        return unsafe GObjectReference(connection)
    }

    /// `(as a{sv})`: the URI, and nothing about the platform.
    private static func parameters(_ uri: String) -> OpaquePointer? {
        let text = unsafe g_variant_new_string(uri)
        let pairType = unsafe g_variant_type_new("{sv}")
        defer { unsafe g_variant_type_free(pairType) }
        var uris: [OpaquePointer?] = unsafe [text]
        var parts: [OpaquePointer?] = unsafe [
            g_variant_new_array(nil, &uris, 1), g_variant_new_array(pairType, nil, 0),
        ]
        return unsafe g_variant_new_tuple(&parts, 2)
    }
}
