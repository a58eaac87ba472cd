// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

/// What this session's notification server is able to do, for a diagnosis.
package enum NotificationServerReport: Sendable, Hashable {
    /// There is no session bus.
    case noSession
    /// No server runs. The bus may start one for the first notification, unless it was asked to.
    case notRunning
    /// A server did not respond within 2 s, or did not start and respond within 10 s.
    case unresponsive
    /// A server runs. What it is, the names of the capabilities that it states, and whether it disturbs the user.
    case running(Server, capabilities: Set<String>, quiet: Quiet)

    /// What a server states about itself. Each text may be empty.
    package struct Server: Sendable, Hashable {
        /// Its name.
        package let name: String
        /// Its own version, and that of the Desktop Notifications Specification.
        package let version: String, specification: String

        /// Reads the response to `GetServerInformation`: the name, the vendor and the versions.
        init(_ response: OpaquePointer) {
            let texts = unsafe BusSignal.texts(of: response, max: 4)
            self.name = unsafe NotificationServerAbilities.software(in: response)
            self.version = texts.count == 4 ? texts[2].cut(toBytes: Self.maxVersionBytes) : ""
            self.specification = texts.count == 4 ? texts[3].cut(toBytes: Self.maxVersionBytes) : ""
        }

        private static let maxVersionBytes = 32
    }

    /// Whether the user has asked a server not to disturb.
    package enum Quiet: Sendable, Hashable {
        /// The user has not, or the server does not state it.
        case off
        /// The server states that the user, or a program, inhibits notifications.
        case inhibited
        /// dunst keeps everything until it is resumed.
        case paused
    }

    private static let name = "org.freedesktop.Notifications"
    private static let (timeout, startTimeout) = (Duration.seconds(2), Duration.seconds(10))

    /// Asks the server.
    ///
    /// - Parameter startsServer: whether the bus starts a server if none runs and it knows one, as the first
    ///   notification does. Defaults to `false`.
    package static func ask(startsServer: Bool = false) async -> NotificationServerReport {
        guard MessageBus.isSessionKnown else { return .noSession }
        let cancellable = Cancellable()
        BlockingCalls.after((startsServer ? Self.startTimeout : Self.timeout) + .seconds(1)) { cancellable.cancel() }
        return await BlockingCalls.run {
            var report = NotificationServerReport.noSession
            unsafe try? MessageBus.session.withConnection(cancellable) { connection throws(MessageBus.Failure) in
                report = unsafe Self.ask(connection, cancellable, startsServer)
            }
            return report
        }
    }

    private static func ask(
        _ connection: OpaquePointer,
        _ cancellable: Cancellable,
        _ startsServer: Bool
    ) -> NotificationServerReport {
        var server: Server?
        var capabilities: Set<String> = []
        do throws(MessageBus.Failure) {
            unsafe try Self.call("GetServerInformation", startsServer: startsServer, connection, cancellable) {
                server = unsafe Server($0)
            }
            unsafe try Self.call("GetCapabilities", connection, cancellable) { response in
                capabilities = unsafe NotificationServerAbilities.capabilities(in: response) ?? []
            }
        } catch {
            return error.isTimeout || cancellable.isCancelled ? .unresponsive : .notRunning
        }
        guard let server else { return .notRunning }
        var quiet = Quiet.off
        if server.name == "dunst" {
            // Later versions, with levels of pausing, state here whether the level is not 0.
            let isPaused = unsafe Self.isOn("paused", of: "org.dunstproject.cmd0", connection, cancellable)
            quiet = isPaused ? .paused : .off
        } else if capabilities.contains("inhibitions") {
            // The servers with this capability, such as Plasma's, have the property.
            let isInhibited = unsafe Self.isOn("Inhibited", of: Self.name, connection, cancellable)
            quiet = isInhibited ? .inhibited : .off
        }
        return .running(server, capabilities: capabilities, quiet: quiet)
    }

    /// Reads a property. `false` if the server does not respond, has no such property, or one of another type.
    private static func isOn(
        _ property: String,
        of interface: String,
        _ connection: OpaquePointer,
        _ cancellable: Cancellable
    ) -> Bool {
        var isOn = false
        unsafe try? Self.call(
            "Get",
            of: "org.freedesktop.DBus.Properties",
            with: [.string(interface), .string(property)],
            connection,
            cancellable
        ) { response in
            isOn = unsafe BusSignal.variantBool(of: response) ?? false
        }
        return isOn
    }

    private static func call(
        _ method: String,
        of interface: String = Self.name,
        with arguments: [MessageBus.Argument] = [],
        startsServer: Bool = false,
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
            flags: startsServer ? G_DBUS_CALL_FLAGS_NONE : G_DBUS_CALL_FLAGS_NO_AUTO_START,
            timeout: startsServer ? Self.startTimeout : Self.timeout,
            cancellable
        ) { response, _ in
            unsafe read(response)
        }
    }
}
