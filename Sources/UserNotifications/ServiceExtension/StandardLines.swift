// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Synchronization

/// The process of an extension: it reads lines from its standard input, and writes lines to its standard output.
struct StandardLines {
    /// As in `sysexits.h`: the program was not started by a host daemon.
    private static let usageStatus: CInt = 64

    private let output: CInt
    /// Ends when the host daemon is gone.
    let lines: AsyncStream<String>

    /// Takes over the standard input and output. What the program prints goes to standard error from now on, so that it
    /// does not get between the lines for the host daemon.
    ///
    /// - Parameter usage: what a user learns who has started the program.
    static func take(_ usage: String) -> StandardLines {
        let output = dup(1)
        guard output >= 0, dup2(2, 1) == 1 else { Self.end(1, "The standard output cannot be used.") }
        guard isatty(0) == 0 else { Self.end(Self.usageStatus, usage) }
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        // A serial queue has a thread of its own. The global ones share their threads with Swift's tasks.
        DispatchQueue(label: "remote-systems.standard-input").async {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return StandardLines(output: output, lines: lines)
    }

    /// Writes a line to standard error.
    static func log(_ text: String) { _ = Self.write(text, to: 2) }

    static func end(_ status: CInt, _ text: String) -> Never {
        Self.log(text)
        exit(status)
    }

    /// Writes a line for the host daemon.
    ///
    /// - Returns: whether the daemon reads it.
    @discardableResult
    func write(_ line: String) -> Bool { Self.write(line, to: self.output) }

    private static let writing = Mutex(())

    private static func write(_ line: String, to descriptor: CInt) -> Bool {
        // Several tasks of an extension may write.
        Self.writing.withLock { _ in
            var rest = Array("\(line)\n".utf8)[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
