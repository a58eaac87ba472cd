// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Dispatch
internal import Glibc
internal import RemoteSystems
internal import RemoteSystemsDiscovery
internal import Synchronization

/// A program that this process started.
///
/// The program is reaped when it ends, even if this object no longer exists, so that it does not stay in the process
/// table.
package final class StartedProgram: Sendable {
    /// The way in which a program ended.
    package enum End: Sendable, Hashable, CustomStringConvertible {
        case exited(status: Int32)
        case killed(signal: Int32)
        /// The exit status is lost: another part of this process reaped the program, or the kernel did because SIGCHLD
        /// is ignored.
        case unknown

        /// Creates the end that a wait status describes.
        ///
        /// - Parameter status: The status from waitpid(2).
        init(status: Int32) {
            self = status & 0x7F == 0 ? .exited(status: (status >> 8) & 0xFF) : .killed(signal: status & 0x7F)
        }

        /// Whether the program is known to have ended with exit status 0.
        package var isSuccess: Bool { self == .exited(status: 0) }

        /// The end as a clause, for messages.
        package var description: String {
            switch self {
            case .exited(let status): "it ended with exit status \(status)"
            case .killed(let signal): "it was ended by signal \(signal)"
            case .unknown: "it ended with an unknown status"
            }
        }
    }

    private struct State {
        var end: End?
        var waiting = StreamReaders<Void>()
        /// Whether the program was asked to end.
        var isUnwanted = false
    }

    /// The process id. After the program's end, the kernel can assign it to another process.
    package let id: Int32
    private let state = Mutex(State())
    private let endsItsChildren: Bool

    /// Takes over a child process. Nothing else may wait for it.
    init(id: Int32, endsItsChildren: Bool = false) {
        self.id = id
        self.endsItsChildren = endsItsChildren
        self.reap()
    }

    /// The way in which the program ended; `nil` while it runs.
    package var ended: End? { self.state.withLock { $0.end } }

    /// Waits until the program ends.
    ///
    /// - Returns: `nil` if the task is cancelled first.
    package func end() async -> End? {
        let ended = self.state.withLock { $0.end == nil ? $0.waiting.add().stream : nil }
        if let ended { for await _ in ended {} }
        return self.ended
    }

    /// Sends a signal to the program and its process group, unless it has ended.
    package func signal(_ signal: Int32) {
        // Under the lock, because the program is reaped under it and its process id can be reused afterwards.
        self.state.withLock { state in
            if state.end == nil { self.sendToGroup(signal) }
        }
    }

    /// Whether ``terminate(grace:)`` was called.
    package var isUnwanted: Bool { self.state.withLock { $0.isUnwanted } }

    /// Sends SIGTERM to the program, and kills it after a grace period.
    ///
    /// When the program ends, the rest of its process group is killed too, such as the hanging child of a script.
    ///
    /// - Returns: The way in which the program ended; `nil` if the task is cancelled first, or if another call is
    ///   already terminating the program.
    package func terminate(grace: Duration) async -> End? {
        let isFirst = self.state.withLock { state in
            guard state.end == nil, !state.isUnwanted else { return false }
            state.isUnwanted = true
            self.sendToGroup(SIGTERM)
            return true
        }
        guard isFirst else { return self.ended }
        let killing = Task {
            guard (try? await Task.sleep(for: grace)) != nil else { return }
            self.signal(SIGKILL)
        }
        guard let end = await self.end() else { return nil }
        killing.cancel()
        return end
    }

    /// Sends a signal to the process group.
    ///
    /// Must be called under the lock before the program is reaped: its process id and group id are reserved until then.
    /// If this process ignores SIGCHLD, the kernel reaps children itself, and the id may already belong to another
    /// process. The check with waitid(2) then fails and no signal is sent.
    private func sendToGroup(_ signal: Int32) {
        guard waitid(P_PID, id_t(self.id), nil, WEXITED | WNOWAIT | WNOHANG) == 0 else { return }
        _ = kill(-self.id, signal)
    }

    // MARK: Reaping

    private static let queue = DispatchQueue(label: "remote-systems.reaping")

    private func reap() {
        let descriptor = remote_systems_pidfd_open(self.id)
        if descriptor >= 0 {
            // The source retains this object until it is cancelled.
            let source = DescriptorSource(descriptor, queue: Self.queue) { source in
                source.cancel()
                self.bury()
            }
            if source != nil { return }
        }
        // Kernels before 5.3 have no pidfd_open(2), or no descriptor is free.
        OwnThread.start {
            // WNOWAIT leaves the reaping to bury(), which does it under the lock.
            while waitid(P_PID, id_t(self.id), nil, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            self.bury()
        }
    }

    private func bury() {
        self.state.withLock { state in
            if state.isUnwanted || self.endsItsChildren { self.sendToGroup(SIGKILL) }
            var status: Int32 = 0
            var buried: pid_t
            repeat { buried = unsafe waitpid(self.id, &status, 0) } while buried < 0 && errno == EINTR
            state.end = buried == self.id ? End(status: status) : .unknown
            state.waiting.finish()
        }
    }
}
