// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials
internal import ValueSets

/// Makes calls over a message bus.
///
/// The calls block. They must run through ``BlockingCalls``, not on Swift's thread pool. They end when they are
/// cancelled, whatever the bus does.
///
/// Each call has its own connection. GLib's shared connection cannot be cancelled while it is opened, and ends the
/// process when the bus ends.
enum MessageBus: String, Sendable {
    case session, system

    /// A method call to a program on the bus.
    struct Call: Sendable {
        var destination: String
        var path: String
        var interface: String
        var method: String
        var arguments: [Argument]
    }

    /// An argument of a call, in the few types that calls need.
    enum Argument: Sendable {
        case string(String)
        case strings([String])
        case uint32(UInt32)
        case int32(Int32)
        case int64(Int64)
        case bool(Bool)
        /// A valid object path, and an array of them.
        case objectPath(String)
        case objectPaths([String])
        /// A `v` with a `d`, an `s` or a `u`.
        case variantDouble(Double)
        case variantString(String)
        case variantUInt32(UInt32)
        /// An empty `a{sv}`.
        case noOptions
        /// An `a{sv}`, and an array of them. Values that D-Bus cannot represent were refused before.
        case dictionary(ValueSet)
        case dictionaries([ValueSet])
        /// An `a{sv}`.
        case hints([(String, Hint)])
    }

    /// A value in a dictionary of hints.
    enum Hint: Sendable {
        case byte(UInt8)
        case bool(Bool)
        case string(String)
    }

    /// A call got no response, or an error.
    struct Failure: Error {
        /// Whether the call was sent, and may have had an effect.
        var wasCalled = false
        /// The D-Bus name of the error that was returned.
        var name: String?
        /// The message, without a full stop.
        var message = ""
        /// Whether no response came in time.
        var isTimeout = false
    }

    /// The timeout of a call that is not cancelled.
    static let maxDuration = Duration.seconds(310)

    /// Whether the address of a session bus is known. GLib would otherwise start a new bus, without a desktop.
    static var isSessionKnown: Bool {
        let environment = ProcessInfo.processInfo.environment
        let runtime =
            environment["XDG_RUNTIME_DIR"].map { FileManager.default.fileExists(atPath: "\($0)/bus") } ?? false
        return environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false || runtime
    }

    /// Whether a session bus accepts a connection. Returns `false` if its address is not known.
    static func hasSession(_ cancellable: Cancellable) -> Bool {
        guard Self.isSessionKnown else { return false }
        return unsafe (try? Self.session.withConnection(cancellable) { _ throws(Failure) in }) != nil
    }

    /// Makes a call, and returns the file descriptor that the response contains. The caller closes it.
    func descriptor(_ call: Call, startsOwner: Bool, _ cancellable: Cancellable) throws(Failure) -> Int32 {
        var descriptor: Int32 = -1
        unsafe try self.withConnection(cancellable) { connection throws(Failure) in
            let flags = startsOwner ? G_DBUS_CALL_FLAGS_NONE : G_DBUS_CALL_FLAGS_NO_AUTO_START
            unsafe try Self.send(call, over: connection, flags: flags, cancellable) { _, descriptors in
                guard let descriptors = unsafe descriptors, unsafe g_unix_fd_list_get_length(descriptors) == 1 else {
                    return
                }
                unsafe descriptor = g_unix_fd_list_get(descriptors, 0, nil)
            }
        }
        guard descriptor >= 0 else { throw Failure(wasCalled: true, message: "The response has no file descriptor") }
        return descriptor
    }

    /// Makes a call and waits for its response.
    func perform(_ call: Call, _ cancellable: Cancellable) throws(Failure) {
        guard unsafe g_dbus_is_name(call.destination) != 0, unsafe g_variant_is_object_path(call.path) != 0 else {
            throw Failure(
                wasCalled: true,
                name: "org.freedesktop.DBus.Error.ServiceUnknown",
                message: "\(call.destination) is not a valid bus name"
            )
        }
        unsafe try self.withConnection(cancellable) { connection throws(Failure) in
            do throws(Failure) {
                unsafe try Self.send(call, over: connection, cancellable)
            } catch {
                throw Failure(wasCalled: true, name: error.name, message: error.message)
            }
        }
    }

    /// Runs `body` with a connection of its own.
    func withConnection(
        _ cancellable: Cancellable,
        _ body: (OpaquePointer) throws(Failure) -> Void
    ) throws(Failure) {
        let type = self == .session ? G_BUS_TYPE_SESSION : G_BUS_TYPE_SYSTEM
        var error: UnsafeMutablePointer<GError>?
        guard let address = unsafe g_dbus_address_get_for_bus_sync(type, cancellable.object, &error) else {
            throw unsafe Self.failure(error)
        }
        defer { unsafe g_free(address) }
        // Hello is sent below, because GLib's own Hello cannot be cancelled while it waits for the response.
        guard
            let connection = unsafe g_dbus_connection_new_for_address_sync(
                address,
                G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT,
                nil,
                cancellable.object,
                &error
            )
        else {
            var failure = unsafe Self.failure(error)
            failure.message = "The \(self) bus cannot be reached: \(failure.message)"
            throw failure
        }
        defer {
            unsafe g_dbus_connection_close_sync(connection, nil, nil)
            unsafe g_object_unref(UnsafeMutableRawPointer(connection))
        }
        unsafe try Self.send(.bus("Hello", []), over: connection, cancellable)
        unsafe try body(connection)
    }

    /// - Parameters:
    ///   - timeout: the maximum time to wait for the response.
    ///   - read: reads the response's values and file descriptors, which are valid during the call.
    static func send(
        _ call: Call,
        over connection: OpaquePointer,
        flags: GDBusCallFlags = G_DBUS_CALL_FLAGS_NONE,
        timeout: Duration = Self.maxDuration,
        _ cancellable: Cancellable,
        read: (OpaquePointer, UnsafeMutablePointer<GUnixFDList>?) -> Void = { _, _ in }
    ) throws(Failure) {
        var error: UnsafeMutablePointer<GError>?
        var descriptors: UnsafeMutablePointer<GUnixFDList>?
        guard
            let response = unsafe g_dbus_connection_call_with_unix_fd_list_sync(
                connection,
                call.destination,
                call.path,
                call.interface,
                call.method,
                Self.tuple(call.arguments),
                nil,
                flags,
                gint(timeout / .milliseconds(1)),
                nil,
                &descriptors,
                cancellable.object,
                &error
            )
        else { throw unsafe Self.failure(error) }
        unsafe read(response, descriptors)
        unsafe g_variant_unref(response)
        if let descriptors = unsafe descriptors { unsafe g_object_unref(UnsafeMutableRawPointer(descriptors)) }
    }

    /// The arguments as a new tuple with a floating reference.
    static func tuple(_ arguments: [Argument]) -> OpaquePointer? {
        let values = unsafe arguments.map { unsafe $0.variant }
        return unsafe g_variant_new_tuple(values, gsize(values.count))
    }

    /// Converts the error and frees it.
    static func failure(_ error: UnsafeMutablePointer<GError>?) -> Failure {
        guard let error = unsafe error else { return Failure() }
        defer { unsafe g_error_free(error) }
        let name = unsafe g_dbus_error_get_remote_error(error)
        defer { unsafe g_free(name) }
        unsafe g_dbus_error_strip_remote_error(error)
        return Failure(
            name: unsafe name.map { unsafe String(cString: $0) },
            message: unsafe String(cString: error.pointee.message),
            isTimeout: unsafe g_error_matches(error, g_io_error_quark(), gint(G_IO_ERROR_TIMED_OUT.rawValue)) != 0
        )
    }
}

extension MessageBus.Call {
    /// A call to the bus itself.
    static func bus(_ method: String, _ arguments: [MessageBus.Argument]) -> Self {
        Self(
            destination: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            method: method,
            arguments: arguments
        )
    }

    /// A call to an application (Desktop Entry Specification, "D-Bus Activation"). The bus starts the application if it
    /// is not running.
    static func application(
        _ name: String,
        _ path: String,
        _ method: String,
        _ arguments: [MessageBus.Argument]
    ) -> Self {
        Self(
            destination: name,
            path: path,
            interface: "org.freedesktop.Application",
            method: method,
            arguments: arguments
        )
    }
}

extension MessageBus.Argument {
    /// The argument as a new `GVariant` with a floating reference.
    fileprivate var variant: OpaquePointer? {
        switch self {
        case .string(let text): return unsafe g_variant_new_string(text)
        case .uint32(let number): return unsafe g_variant_new_uint32(number)
        case .strings(let texts): return unsafe Self.array(of: "s", texts.map { unsafe g_variant_new_string($0) })
        case .int32(let number): return unsafe g_variant_new_int32(number)
        case .int64(let number): return unsafe g_variant_new_int64(gint64(number))
        case .bool(let bool): return unsafe g_variant_new_boolean(bool ? 1 : 0)
        case .objectPath(let path): return unsafe g_variant_new_object_path(path)
        case .objectPaths(let paths):
            return unsafe Self.array(of: "o", paths.map { unsafe g_variant_new_object_path($0) })
        case .variantDouble(let number): return unsafe g_variant_new_variant(g_variant_new_double(number))
        case .variantString(let text): return unsafe g_variant_new_variant(g_variant_new_string(text))
        case .variantUInt32(let number): return unsafe g_variant_new_variant(g_variant_new_uint32(number))
        case .noOptions: return unsafe Self.array(of: "{sv}", [])
        case .dictionary(let set): return unsafe GVariantWriter.dictionary(set)
        case .dictionaries(let sets):
            return unsafe Self.array(of: "a{sv}", sets.map { unsafe GVariantWriter.dictionary($0) })
        case .hints(let hints):
            let entries = unsafe hints.map { key, hint in
                unsafe g_variant_new_dict_entry(g_variant_new_string(key), g_variant_new_variant(hint.variant))
            }
            return unsafe Self.array(of: "{sv}", entries)
        }
    }

    private static func array(of type: String, _ elements: [OpaquePointer?]) -> OpaquePointer? {
        let type = unsafe g_variant_type_new(type)
        defer { unsafe g_variant_type_free(type) }
        return unsafe g_variant_new_array(type, elements, gsize(elements.count))
    }
}

extension MessageBus.Hint {
    /// The hint as a new `GVariant` with a floating reference.
    fileprivate var variant: OpaquePointer? {
        switch self {
        case .byte(let byte): unsafe g_variant_new_byte(byte)
        case .bool(let bool): unsafe g_variant_new_boolean(bool ? 1 : 0)
        case .string(let text): unsafe g_variant_new_string(text)
        }
    }
}
