// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// An event loop for tests. Its time is advanced manually, and it knows when all scheduled work is done.
package protocol SimulatedEventLoop: EventLoop {
    /// The event loop's time.
    var time: TimeSource { get }
    /// The executor that runs tasks on the event loop, so that they count as scheduled work.
    var taskExecutor: any TaskExecutor { get }
}

/// The parts of its event loop that a connection uses besides I/O.
///
/// The kind of event loop is determined once for each connection. To look up the time through the event loop for every
/// message would cost calls that only tests need.
struct EventLoopEnvironment: Sendable {
    private let simulated: (any SimulatedEventLoop)?

    init(of eventLoop: any EventLoop) {
        self.simulated = eventLoop as? any SimulatedEventLoop
    }

    var now: NIODeadline {
        guard let simulated else { return .now() }
        return simulated.now
    }

    var instant: ContinuousClock.Instant {
        guard let simulated else { return .now }
        return simulated.time.now
    }

    /// The executor of tasks that the connection starts; `nil` for the default executor.
    var taskExecutor: (any TaskExecutor)? { self.simulated?.taskExecutor }
}
