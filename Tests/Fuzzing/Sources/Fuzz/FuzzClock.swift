// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NIOEmbedded

@testable import RemoteSystemsTransport
@testable import ValueSets

/// The event loop of one conversation: it runs tasks on the calling thread, and its time stands still until the
/// conversation advances it.
extension EmbeddedEventLoop: @retroactive SimulatedEventLoop {
    /// The event loop's own time.
    public var time: TimeSource { TimeSource(manual: FuzzTime(loop: self)) }
    /// The executor that runs tasks on the event loop.
    public var taskExecutor: any TaskExecutor { FuzzTime.executor(of: self) }
}

/// The time of an event loop.
struct FuzzTime: ManualTime {
    let loop: EmbeddedEventLoop

    /// One conversation runs at a time, so one executor is kept.
    nonisolated(unsafe) private static var current: (loop: EmbeddedEventLoop, executor: EventLoopTaskExecutor)?

    static func executor(of loop: EmbeddedEventLoop) -> EventLoopTaskExecutor {
        if let current, current.loop === loop { return current.executor }
        let executor = EventLoopTaskExecutor(loop)
        self.current = (loop, executor)
        return executor
    }

    /// Releases the event loop.
    static func forget() { self.current = nil }

    private static let start = ContinuousClock.now

    var now: ContinuousClock.Instant { Self.start + Duration(self.loop.now - .uptimeNanoseconds(0)) }
    var deadline: NIODeadline { self.loop.now }

    func sleep(until instant: ContinuousClock.Instant) async throws {
        broken("a conversation sleeps")
    }
}

/// Discards log messages, after checking that they contain no control characters: peers determine parts of them.
struct CheckingLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        for value in [event.message.description] + (event.metadata ?? [:]).map({ "\($0.value)" }) {
            require(!value.hasControlCharacters, "a log message has control characters: \(value.debugDescription)")
        }
    }

    static let logger = Logger(label: "fuzz") { _ in CheckingLogHandler() }
}
