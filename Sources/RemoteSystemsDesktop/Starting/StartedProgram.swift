// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Dispatch
internal import Glibc
internal import Synchronization

/// A program that was started from here. Whatever becomes of this object, notice is taken of the program's end, so that it
/// does not stay in the process table.
package final class StartedProgram: Sendable {
    /// How a program has ended.
    package enum End: Sendable, Hashable, CustomStringConvertible {
        case exited(status: Int32)
        case killed(signal: Int32)
        /// Somebody else has buried it, and only they know how it ended: another part of this process, or the kernel because
        /// SIGCHLD is ignored.
        case unknown

        /// - Parameter status: as waitpid(2) tells it.
        init(status: Int32) {
            self = status & 0x7F == 0 ? .exited(status: (status >> 8) & 0xFF) : .killed(signal: status & 0x7F)
        }

        /// Exit status 0, and known to be.
        package var isSuccess: Bool { self == .exited(status: 0) }

        /// For a person.
        package var description: String {
            switch self {
            case .exited(let status): "it ended with exit status \(status)"
            case .killed(let signal): "it was ended by signal \(signal)"
            case .unknown: "it ended, and nobody knows how,"
            }
        }
    }

    private struct State {
        var end: End?
        var waiting: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var nextWaiting: UInt64 = 0
        /// Somebody wants it to end.
        var isUnwanted = false
    }

    /// Its process id; another process's once it has ended.
    package let id: Int32
    private let state = Mutex(State())

    /// Takes over a child that nobody else waits for.
    init(id: Int32) {
        self.id = id
        self.reap()
    }

    /// How it has ended; `nil` while it runs.
    package var ended: End? { self.state.withLock { $0.end } }

    /// Waits for its end.
    ///
    /// - Returns: `nil` when the task is cancelled first.
    package func end() async -> End? {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let number: UInt64? = self.state.withLock { state in
            guard state.end == nil else { return nil }
            defer { state.nextWaiting += 1 }
            state.waiting[state.nextWaiting] = continuation
            return state.nextWaiting
        }
        guard let number else { return self.ended }
        for await _ in stream {}
        return self.state.withLock { state in
            state.waiting[number] = nil
            return state.end
        }
    }

    /// Sends a signal to it, and to what it has started and left in its process group, unless it has ended.
    package func signal(_ signal: Int32) {
        // Under the lock: it is buried under it, and its number another's only afterwards.
        self.state.withLock { state in
            if state.end == nil { self.sendToGroup(signal) }
        }
    }

    /// Whether somebody has asked it to end.
    package var isUnwanted: Bool { self.state.withLock { $0.isUnwanted } }

    /// Asks it to end (SIGTERM), and kills it after a time of grace. What it has left in its process group when it ends is killed, too: a
    /// script's hanging child is no better than the script.
    ///
    /// - Returns: how it has ended; `nil` when the task is cancelled first, or when somebody else ends it already.
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
        defer { killing.cancel() }
        return await self.end()
    }

    /// To be called under the lock, before it is buried: its number, and its group's, is kept for it until then. Where nobody has to bury
    /// it, because this process ignores SIGCHLD, it may be another's, which is not ours to signal.
    private func sendToGroup(_ signal: Int32) {
        guard waitid(P_PID, id_t(self.id), nil, WEXITED | WNOWAIT | WNOHANG) == 0 else { return }
        _ = kill(-self.id, signal)
    }

    // MARK: The end of it

    private static let queue = DispatchQueue(label: "remote-systems.reaping")

    private func reap() {
        let descriptor = remote_systems_pidfd_open(self.id)
        guard descriptor >= 0 else {
            // A kernel before 5.3.
            DispatchQueue.global().async {
                // Without burying it, which is done under the lock.
                while waitid(P_PID, id_t(self.id), nil, WEXITED | WNOWAIT) < 0, errno == EINTR {}
                self.bury()
            }
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: Self.queue)
        // The handler holds the source, and this, until it is cancelled.
        source.setEventHandler {
            self.bury()
            source.cancel()
        }
        source.setCancelHandler { close(descriptor) }
        source.resume()
    }

    private func bury() {
        let waiting = self.state.withLock { state in
            if state.isUnwanted { self.sendToGroup(SIGKILL) }
            var status: Int32 = 0
            var buried: pid_t
            repeat { buried = unsafe waitpid(self.id, &status, 0) } while buried < 0 && errno == EINTR
            state.end = buried == self.id ? End(status: status) : .unknown
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.finish() }
    }
}
