// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// An event loop of a test: its time is moved by hand, and it knows when all that it was given to do is done.
package protocol SimulatedEventLoop: EventLoop {
    /// The same time, as clocks tell it.
    var time: TimeSource { get }
    /// Runs tasks on the event loop, so that they count as something to do.
    var taskExecutor: any TaskExecutor { get }
}

/// What a connection has from its event loop besides I/O.
///
/// Found out once for each connection: asking the event loop for the time of every message would cost calls that only
/// tests need.
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

    /// Where tasks run that the connection starts; `nil` for where all tasks do.
    var taskExecutor: (any TaskExecutor)? { self.simulated?.taskExecutor }
}
