// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsGTK
import Glibc

/// Reads lines from the standard input while GTK runs.
@MainActor
final class CommandLines {
    /// The maximum length of a line, in bytes, as of the host daemon.
    private static let maxBytes = 1 << 20

    private var rest: [UInt8] = []
    private var isTooLong = false
    private let received: (String) -> Void
    private let ended: () -> Void

    private init(_ received: @escaping (String) -> Void, _ ended: @escaping () -> Void) {
        (self.received, self.ended) = (received, ended)
    }

    /// - Parameters:
    ///   - received: called for each line.
    ///   - ended: called at the end of the input.
    static func read(_ received: @escaping (String) -> Void, ended: @escaping () -> Void) {
        let lines = CommandLines(received, ended)
        let context = unsafe Unmanaged.passRetained(lines).toOpaque()
        let handler: rs_gtk_descriptor_handler = { context in
            guard let context = unsafe context else { return false }
            let lines = unsafe Unmanaged<CommandLines>.fromOpaque(context).takeUnretainedValue()
            return MainActor.assumeIsolated { lines.read() }
        }
        unsafe rs_gtk_watch(STDIN_FILENO, handler, context)
    }

    private func read() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR || errno == EAGAIN { return true }
        guard count > 0 else {
            self.ended()
            return false
        }
        var data = bytes[..<count]
        while let end = data.firstIndex(of: UInt8(ascii: "\n")) {
            self.append(data[..<end])
            if !self.isTooLong { self.received(String(decoding: self.rest, as: UTF8.self)) }
            (self.rest, self.isTooLong) = ([], false)
            data = data[(end + 1)...]
        }
        self.append(data)
        return true
    }

    private func append(_ data: ArraySlice<UInt8>) {
        guard !self.isTooLong else { return }
        self.rest += data
        guard self.rest.count > Self.maxBytes else { return }
        Card.log("A line of the host daemon is longer than 1 MiB, and is left out.")
        (self.rest, self.isTooLong) = ([], true)
    }
}
