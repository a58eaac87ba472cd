// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// Finds the user's host daemon over the session bus. If the daemon does not run, the bus starts it, provided that a
/// D-Bus service file for it is installed.
///
/// ```swift
/// var options = RemoteSystemHost.Options()
/// options.hostDaemonLocator = SessionBusDaemon()
/// ```
///
/// The bus only passes a descriptor of the daemon's socket file. The program connects to that socket directly, and its
/// data does not go through the bus. Without a session bus, the daemon is not found.
public struct SessionBusDaemon: HostDaemonLocator {
    /// The timeout for a daemon that runs, and for one that the bus must start.
    private static let timeout = Duration.seconds(2)
    private static let startTimeout = Duration.seconds(20)

    /// Creates a locator for the session bus of this process's environment.
    public init() {}

    /// Opens the daemon's socket. Waits at most 2 s, or 20 s if the daemon is started.
    ///
    /// - Parameters:
    ///   - system: The system whose daemon is needed.
    ///   - startsDaemon: Whether to start the daemon if it does not run.
    /// - Returns: A descriptor of the socket, opened with `O_PATH`. The caller closes it.
    /// - Throws: `RemoteSystemError` with the code `unreachable` if there is no session bus, or if the daemon is not
    ///   found on it in time.
    public func openSocket(of system: SystemID, startsDaemon: Bool) async throws -> Int32 {
        guard MessageBus.isSessionKnown else { throw Self.error("There is no session bus.") }
        let call = MessageBus.Call(
            destination: RegistryName.bus,
            path: RegistryName.path,
            interface: RegistryName.bus,
            method: RegistryName.method,
            arguments: [.string(system.description)]
        )
        let result = await BlockingCalls.run(atMost: startsDaemon ? Self.startTimeout : Self.timeout) { cancellable in
            Result { () throws(MessageBus.Failure) in
                try MessageBus.session.descriptor(call, startsOwner: startsDaemon, cancellable)
            }
        }
        do throws(MessageBus.Failure) {
            return try result.get()
        } catch {
            throw Self.error("The host daemon was not found on the session bus: \(error.message).")
        }
    }

    private static func error(_ message: String) -> RemoteSystemError {
        RemoteSystemError(.unreachable, message, side: .local)
    }
}
