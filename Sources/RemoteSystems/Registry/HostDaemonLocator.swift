// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

/// Finds the host daemon of this machine for a program that cannot reach the daemon's socket by path, or that must
/// start the daemon first (`Docs/decisions/0023-local-registry.md`).
///
/// `SessionBusDaemon` of the module RemoteSystemsDesktop finds the daemon over the session bus.
public protocol HostDaemonLocator: Sendable {
    /// Opens the socket at which programs register with the host daemon.
    ///
    /// The program then connects by the descriptor itself, so that the kernel reports the program to the daemon and the
    /// daemon to the program. Called when the socket was not reached by its path.
    ///
    /// - Parameters:
    ///   - system: the system whose daemon is needed.
    ///   - startsDaemon: whether to start the daemon if it does not run. `true` once, when the program starts.
    /// - Returns: a descriptor of the socket, opened with `O_PATH`. The caller closes it.
    /// - Throws: an error if there is no daemon of this system. The program then advertises itself.
    func openSocket(of system: SystemID, startsDaemon: Bool) async throws -> Int32
}
