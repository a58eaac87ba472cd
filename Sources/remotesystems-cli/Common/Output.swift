// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Writes to standard output and standard error, unbuffered, so that a reader of a pipe gets each line at once.
struct Output: Sendable {
    let isJSON: Bool
    let style = Style(descriptor: STDOUT_FILENO)
    /// The maximum width of a line, in columns. `nil` if standard output is not a terminal: nothing is cut then.
    let width: Int? = isatty(STDOUT_FILENO) == 1 ? 80 : nil

    /// Writes a line of text to standard output. Does nothing with `--json`.
    func line(_ text: String) throws(OutputError) {
        if !self.isJSON { try Self.write(Array((text + "\n").utf8), to: STDOUT_FILENO) }
    }

    /// Writes an object as one line of JSON to standard output. Does nothing without `--json`.
    func json(_ object: @autoclosure () -> some Encodable) throws {
        guard self.isJSON else { return }
        let line = String(decoding: try Self.encoder().encode(object()), as: UTF8.self).printableJSON
        try Self.write(Array((line + "\n").utf8), to: STDOUT_FILENO)
    }

    /// Writes bytes unchanged to standard output.
    func raw(_ bytes: [UInt8]) throws(OutputError) {
        try Self.write(bytes, to: STDOUT_FILENO)
    }

    /// Writes a line of text that is not part of the result to standard error. Does nothing with `--json`.
    func note(_ text: String) {
        if !self.isJSON { try? Self.write(Array((text + "\n").utf8), to: STDERR_FILENO) }
    }

    /// Writes a question to standard error, without ending the line. Does nothing with `--json`.
    func ask(_ text: String) {
        if !self.isJSON { try? Self.write(Array(text.utf8), to: STDERR_FILENO) }
    }

    /// Writes an error message to standard error, with and without `--json`. Wraps it on a terminal; in a log it stays
    /// one line.
    func complain(_ text: String) {
        let line = "\(JournalPriority.error.prefix)remotesystems: \(text)"
        let reported = isatty(STDERR_FILENO) == 1 ? line.wrapped() : line
        try? Self.write(Array("\(reported)\n".utf8), to: STDERR_FILENO)
    }

    /// Writes text to standard error as it is, with and without `--json`.
    static func error(_ text: String) { try? Self.write(Array(text.utf8), to: STDERR_FILENO) }

    private static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        }
        return encoder
    }

    private static func write(_ bytes: some Collection<UInt8>, to descriptor: Int32) throws(OutputError) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw OutputError(number: errno)
            }
        }
    }
}

/// Writing to standard output or standard error failed.
struct OutputError: Error {
    let number: Int32

    /// The message to print; `nil` if the reader closed the pipe, as `head` does, which is no error worth a message.
    var message: String? {
        self.number == EPIPE ? nil : "The output cannot be written: \(unsafe String(cString: strerror(self.number)))."
    }
}
