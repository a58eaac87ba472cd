// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The sockets that a service manager passes to this process: `$LISTEN_FDS` (sd_listen_fds(3)).
package struct ActivationSockets: Sendable {
    /// The reason why the passed sockets cannot be used.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The first passed file descriptor (SD_LISTEN_FDS_START).
    package static let firstDescriptor: Int32 = 3

    /// The file descriptors of the sockets. Started programs do not inherit them.
    package let descriptors: [Int32]

    /// Takes over the sockets that were passed to this process.
    ///
    /// Takes none if `$LISTEN_PID` names another process, from which the variables were inherited.
    package init(environment: [String: String], pid: Int32) throws(Failure) {
        guard environment["LISTEN_PID"] == "\(pid)", let text = environment["LISTEN_FDS"] else {
            self.descriptors = []
            return
        }
        guard let count = Int32(text), (0...64).contains(count) else {
            throw Failure(description: "LISTEN_FDS is '\(text)', which is not a number of sockets.")
        }
        self.descriptors = (0..<count).map { Self.firstDescriptor + $0 }
        for descriptor in self.descriptors {
            guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
                throw Failure(description: "LISTEN_FDS names the file descriptor \(descriptor), which is not open.")
            }
        }
    }

    /// The listening socket; `nil` if none was passed.
    ///
    /// - Throws: ``Failure`` if several sockets were passed, or the socket does not listen for TCP connections.
    package func listeningSocket() throws(Failure) -> Int32? {
        guard let descriptor = self.descriptors.first else { return nil }
        guard self.descriptors.count == 1 else {
            throw Failure(
                description: "The service manager passed \(self.descriptors.count) sockets, but only one is used. "
                    + "Give the socket unit one ListenStream=. 'ListenStream=47474' accepts IPv6 and IPv4."
            )
        }
        guard Self.option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue),
            Self.option(SO_ACCEPTCONN, of: descriptor) == 1,
            [AF_INET, AF_INET6].contains(Self.option(SO_DOMAIN, of: descriptor))
        else {
            throw Failure(description: "The socket from the service manager does not listen for TCP connections.")
        }
        return descriptor
    }

    private static func option(_ option: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 ? value : nil
    }
}

/// The environment variables that a service manager sets for one process. They are removed before a program is started.
package enum ServiceManagerEnvironment {
    package static func clear() {
        for name in [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
        ] {
            unsafe unsetenv(name)
        }
    }
}
