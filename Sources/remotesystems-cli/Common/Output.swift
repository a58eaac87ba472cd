// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Where the command prints: unbuffered, so that a line is there as soon as it is written, for a pipe too.
struct Output: Sendable {
    let isJSON: Bool
    let style = Style(descriptor: STDOUT_FILENO)
    /// How many columns a line may take; `nil` where it is not read on a terminal, and nothing is cut.
    let width: Int? = isatty(STDOUT_FILENO) == 1 ? 80 : nil

    /// A line for people; nothing with `--json`.
    func line(_ text: String) throws(OutputError) {
        if !self.isJSON { try Self.write(Array((text + "\n").utf8), to: STDOUT_FILENO) }
    }

    /// A line for scripts; nothing without `--json`.
    func json(_ object: @autoclosure () -> some Encodable) throws {
        guard self.isJSON else { return }
        let line = String(decoding: try Self.encoder().encode(object()), as: UTF8.self).printableJSON
        try Self.write(Array((line + "\n").utf8), to: STDOUT_FILENO)
    }

    /// Bytes as they are.
    func raw(_ bytes: [UInt8]) throws(OutputError) {
        try Self.write(bytes, to: STDOUT_FILENO)
    }

    /// A line for people that is no part of the result.
    func note(_ text: String) {
        if !self.isJSON { try? Self.write(Array((text + "\n").utf8), to: STDERR_FILENO) }
    }

    /// A line on standard error, whatever else is printed. For eyes it is wrapped; in a log it stays one line.
    func complain(_ text: String) {
        let line = "remotesystems: \(text)"
        let reported = isatty(STDERR_FILENO) == 1 ? line.wrapped() : line
        try? Self.write(Array("\(reported)\n".utf8), to: STDERR_FILENO)
    }

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

/// Standard output takes nothing more.
struct OutputError: Error {
    let number: Int32

    /// Nothing when whoever read the output has gone: that is how `head` ends.
    var message: String? {
        self.number == EPIPE ? nil : "The output cannot be written: \(unsafe String(cString: strerror(self.number)))."
    }
}
