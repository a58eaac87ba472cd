// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// The minimum level that the daemon logs. SIGHUP can change it for all loggers at once.
final class HostLogLevel: Sendable {
    private let level: Mutex<Logger.Level>

    init(_ level: Logger.Level) { self.level = Mutex(level) }

    var value: Logger.Level {
        get { self.level.withLock { $0 } }
        set { self.level.withLock { $0 = newValue } }
    }

    /// A logger to standard error. All copies of it use this level.
    func logger() -> Logger {
        Logger(label: "remotesystems") { label in
            HostLogHandler(handler: CommandLogHandler(label: label), level: self)
        }
    }
}

private struct HostLogHandler: LogHandler {
    var handler: CommandLogHandler
    let level: HostLogLevel

    /// The log level, which all copies of the logger share. Only the daemon sets it.
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
