// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystems

/// Writes lines with `key=value` and a message to standard error. Texts of peers cannot look like a key, like the end
/// of a value, or like another line.
struct CommandLogHandler: LogHandler {
    private let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }
        // The stream's handler would add these without quotes.
        if let error = event.error {
            metadata["error.message"] = "\(error)"
            metadata["error.type"] = "\(String(reflecting: type(of: error)))"
        }
        var event = event
        event.error = nil
        event.message = Logger.Message(stringLiteral: event.message.description.logMessage)
        event.metadata = metadata.mapValues { Logger.MetadataValue.string("\($0)".logValue) }
        let stream = PrioritisedErrors(priority: JournalPriority(event.level))
        StreamLogHandler(label: self.label, stream: stream, metadataProvider: nil).log(event: event)
    }
}

/// Standard error, with the priority before each text. A text is one line.
private struct PrioritisedErrors: TextOutputStream, Sendable {
    let priority: JournalPriority

    func write(_ line: String) { Output.error(self.priority.prefix + line) }
}
