// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import ValueSets

/// The time since the user has used the session's keyboard and pointer.
package enum SessionIdleTime {
    /// The time for all programs that may know it.
    private static let timeout = Duration.milliseconds(100)
    private static let limits = ValueSetLimits(depth: 4, keysPerDictionary: 64, items: 256, bytes: 64 << 10)

    /// Asks the compositor, the screen saver and the login manager, in this order.
    ///
    /// - Returns: `nil` if none of them knows it. The login manager knows only that of a session that has been idle for
    ///   longer than the desktop's delay.
    package static func read() async -> Duration? {
        await BlockingCalls.run(atMost: Self.timeout) { cancellable in
            Self.ofSession(cancellable) ?? Self.ofLogin(cancellable)
        }
    }

    private static func ofSession(_ cancellable: Cancellable) -> Duration? {
        guard MessageBus.isSessionKnown else { return nil }
        let compositor = Self.call(
            "org.gnome.Mutter.IdleMonitor",
            "/org/gnome/Mutter/IdleMonitor/Core",
            "GetIdletime"
        )
        let screenSaver = Self.call("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver", "GetSessionIdleTime")
        var milliseconds: UInt64?
        unsafe try? MessageBus.session.withConnection(cancellable) { connection throws(MessageBus.Failure) in
            milliseconds = unsafe Self.response(compositor, connection, cancellable) {
                unsafe BusSignal.longNumber(of: $0)
            }
            if milliseconds != nil { return }
            milliseconds = unsafe Self.response(screenSaver, connection, cancellable) {
                unsafe BusSignal.number(of: $0).map { UInt64($0) }
            }
        }
        return milliseconds.flatMap { Int64(exactly: $0) }.map { .milliseconds($0) }
    }

    /// The login manager (systemd-logind, org.freedesktop.login1(5)) knows what the desktop has reported to it: a
    /// session that is not idle may be one whose desktop reports nothing.
    private static func ofLogin(_ cancellable: Cancellable) -> Duration? {
        let call = MessageBus.Call(
            destination: "org.freedesktop.login1",
            path: "/org/freedesktop/login1/user/self",
            interface: "org.freedesktop.DBus.Properties",
            method: "GetAll",
            arguments: [.string("org.freedesktop.login1.User")]
        )
        var properties: ValueSet?
        unsafe try? MessageBus.system.withConnection(cancellable) { connection throws(MessageBus.Failure) in
            properties = unsafe Self.response(call, connection, cancellable) { response in
                guard let first = unsafe g_variant_get_child_value(response, 0) else { return nil }
                defer { unsafe g_variant_unref(first) }
                return unsafe try? ValueSet(gVariant: first, limits: Self.limits)
            }
        }
        guard properties?["IdleHint"]?.bool == true,
            let since = properties?["IdleSinceHintMonotonic"]?.int, since > 0
        else { return nil }
        return .microseconds(max(Int64(g_get_monotonic_time()) - Int64(since), 0))
    }

    private static func call(_ name: String, _ path: String, _ method: String) -> MessageBus.Call {
        MessageBus.Call(destination: name, path: path, interface: name, method: method, arguments: [])
    }

    private static func response<Result>(
        _ call: MessageBus.Call,
        _ connection: OpaquePointer,
        _ cancellable: Cancellable,
        _ read: (OpaquePointer) -> Result?
    ) -> Result? {
        var result: Result?
        unsafe try? MessageBus.send(
            call,
            over: connection,
            flags: G_DBUS_CALL_FLAGS_NO_AUTO_START,
            cancellable
        ) { response, _ in
            guard unsafe g_variant_n_children(response) > 0 else { return }
            result = unsafe read(response)
        }
        return result
    }
}
