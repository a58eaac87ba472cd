// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

/// What this session's notification server is able to do, for a diagnosis.
package enum NotificationServerReport: Sendable, Hashable {
    /// There is no session bus.
    case noSession
    /// No server runs. The bus may start one for the first notification.
    case notRunning
    /// A server did not respond within 2 s.
    case unresponsive
    /// A server runs. Its name, the names of the capabilities that it states, and whether it states that the user does
    /// not want to be disturbed.
    case running(name: String, capabilities: Set<String>, isInhibited: Bool)

    private static let name = "org.freedesktop.Notifications"
    private static let timeout = Duration.seconds(2)

    /// Asks the server. Starts none.
    package static func ask() async -> NotificationServerReport {
        guard MessageBus.isSessionKnown else { return .noSession }
        let cancellable = Cancellable()
        BlockingCalls.after(Self.timeout + .seconds(1)) { cancellable.cancel() }
        return await BlockingCalls.run {
            var report = NotificationServerReport.noSession
            unsafe try? MessageBus.session.withConnection(cancellable) { connection throws(MessageBus.Failure) in
                report = unsafe Self.ask(connection, cancellable)
            }
            return report
        }
    }

    private static func ask(_ connection: OpaquePointer, _ cancellable: Cancellable) -> NotificationServerReport {
        var (name, capabilities, isInhibited) = ("", Set<String>(), false)
        do throws(MessageBus.Failure) {
            unsafe try Self.call("GetServerInformation", connection, cancellable) { response in
                name = unsafe NotificationServerAbilities.software(in: response)
            }
            unsafe try Self.call("GetCapabilities", connection, cancellable) { response in
                capabilities = unsafe NotificationServerAbilities.capabilities(in: response) ?? []
            }
        } catch {
            return error.isTimeout || cancellable.isCancelled ? .unresponsive : .notRunning
        }
        // The servers with this capability, such as Plasma's, have the property.
        if capabilities.contains("inhibitions") {
            unsafe try? Self.call(
                "Get",
                of: "org.freedesktop.DBus.Properties",
                with: [.string(Self.name), .string("Inhibited")],
                connection,
                cancellable
            ) { response in
                isInhibited = unsafe BusSignal.variantBool(of: response) ?? false
            }
        }
        return .running(name: name, capabilities: capabilities, isInhibited: isInhibited)
    }

    private static func call(
        _ method: String,
        of interface: String = Self.name,
        with arguments: [MessageBus.Argument] = [],
        _ connection: OpaquePointer,
        _ cancellable: Cancellable,
        read: (OpaquePointer) -> Void
    ) throws(MessageBus.Failure) {
        let call = MessageBus.Call(
            destination: Self.name,
            path: "/org/freedesktop/Notifications",
            interface: interface,
            method: method,
            arguments: arguments
        )
        unsafe try MessageBus.send(
            call,
            over: connection,
            flags: G_DBUS_CALL_FLAGS_NO_AUTO_START,
            timeout: Self.timeout,
            cancellable
        ) { response, _ in
            unsafe read(response)
        }
    }
}
