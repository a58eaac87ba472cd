// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// From which level on the daemon logs; changed on SIGHUP for every logger that was made of it.
final class HostLogLevel: Sendable {
    private let level: Mutex<Logger.Level>

    init(_ level: Logger.Level) { self.level = Mutex(level) }

    var value: Logger.Level {
        get { self.level.withLock { $0 } }
        set { self.level.withLock { $0 = newValue } }
    }

    /// A logger to standard error that keeps to this level, wherever it is copied to.
    func logger() -> Logger {
        Logger(label: "remotesystems") { label in
            HostLogHandler(handler: StreamLogHandler.standardError(label: label), level: self)
        }
    }
}

private struct HostLogHandler: LogHandler {
    var handler: StreamLogHandler
    let level: HostLogLevel

    /// One for all copies: nobody but the daemon sets it.
    var logLevel: Logger.Level {
        get { self.level.value }
        set { self.level.value = newValue }
    }

    var metadata: Logger.Metadata {
        get { self.handler.metadata }
        set { self.handler.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.handler[metadataKey: key] }
        set { self.handler[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { self.handler.log(event: event) }
}
