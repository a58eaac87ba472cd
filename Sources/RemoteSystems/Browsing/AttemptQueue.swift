// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Limits how many attempts to connect a browser makes at the same time. Further attempts wait in order.
///
/// A handshake needs about a millisecond of processor time on each side. Without a limit, a browser that finds 1 000
/// systems at once processes all handshakes in turns, and hundreds of them exceed the host's timeout of 1 s
/// (``RemoteSystemsConfiguration/Transport/helloTimeout``).
///
/// An attempt that takes long stops counting (``BrowserTimes/slowAttempt``), so that systems that do not respond do not
/// delay the others.
struct AttemptQueue {
    struct Attempt: Sendable {
        var instance: String
        var number: Int
        var endpoints: [Endpoint]
    }

    /// The maximum number of attempts that count at the same time.
    static let limit = 32

    private var waiting: ArraySlice<Attempt> = []
    private var running: Set<Int> = []

    mutating func add(_ attempt: Attempt) {
        self.waiting.append(attempt)
    }

    /// Removes and returns the next attempt to start; `nil` if none waits or the limit is reached.
    mutating func next() -> Attempt? {
        guard self.running.count < Self.limit, let next = self.waiting.popFirst() else { return nil }
        self.running.insert(next.number)
        return next
    }

    /// Stops counting an attempt, because it has ended or takes long.
    mutating func release(_ number: Int) {
        self.running.remove(number)
    }
}

/// Starting attempts to connect.
extension SystemBrowser {
    /// Starts an attempt to connect, or queues it.
    func start(attempt number: Int, to instance: String, _ endpoints: [Endpoint]) {
        guard !self.machine.isReconnecting(instance) else {
            // A lost system stays listed for a short time only.
            return self.add(.presence(instance: instance, attempt: number, endpoints: endpoints))
        }
        self.attemptQueue.add(AttemptQueue.Attempt(instance: instance, number: number, endpoints: endpoints))
        self.startAttempts()
    }

    private func startAttempts() {
        while let next = self.attemptQueue.next() {
            guard let instance = self.instance(of: next.number, next.instance) else {
                // The instance is gone.
                self.attemptQueue.release(next.number)
                continue
            }
            self.add(.presence(instance: instance, attempt: next.number, endpoints: next.endpoints))
            self.add(.releaseSlowAttempt(next.number))
        }
    }

    /// Stops counting an attempt, because it has ended or takes long.
    func release(_ attempt: Int) {
        self.attemptQueue.release(attempt)
        self.startAttempts()
    }
}
