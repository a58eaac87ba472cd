// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Synchronization

/// A pseudo-terminal. A test reads what a command shows on it, and types into it.
final class Terminal: Sendable {
    /// The path of the terminal, for the command.
    let path: String
    private let controller: Int32
    private let state: Shared

    private final class Shared: Sendable {
        let shown = Mutex<[UInt8]>([])
        let isOver = Mutex(false)
    }

    init() throws {
        // As posix_openpt, unlockpt and ptsname do (ioctl_tty(2)), which Swift's Glibc does not have.
        let (setLock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))
        let controller = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number) = (Int32(0), UInt32(0))
        guard controller >= 0, unsafe ioctl(controller, setLock, &lock) == 0,
            unsafe ioctl(controller, getNumber, &number) == 0
        else { throw IntegrationError("cannot make a terminal: error \(errno)") }
        self.path = "/dev/pts/\(number)"
        self.controller = controller
        let state = Shared()
        self.state = state
        // Kept open: reads fail while no program has the terminal open.
        let end = unsafe open(self.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while !state.isOver.withLock({ $0 }) {
                var ready = pollfd(fd: controller, events: Int16(POLLIN), revents: 0)
                guard unsafe poll(&ready, 1, 50) > 0 else { continue }
                let count = unsafe Glibc.read(controller, &buffer, buffer.count)
                guard count > 0 else { continue }
                state.shown.withLock { $0 += buffer[..<count] }
            }
            close(end)
            close(controller)
        }
    }

    deinit { self.state.isOver.withLock { $0 = true } }

    /// Everything that was shown so far, and what was typed, since the terminal echoes it.
    var shown: String {
        String(decoding: self.state.shown.withLock { $0 }, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
    }

    /// Whether the terminal shows what is typed.
    var echoes: Bool {
        var settings = termios()
        return unsafe tcgetattr(self.controller, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Types a text, and the key Return.
    func type(_ text: String) throws {
        let bytes = Array((text + "\n").utf8)
        guard unsafe Glibc.write(self.controller, bytes, bytes.count) == bytes.count else {
            throw IntegrationError("cannot type: error \(errno)")
        }
    }

    /// Waits for a text, and returns everything that was shown so far.
    @discardableResult
    func wait(for text: String, within limit: Duration = .seconds(30)) async throws -> String {
        do {
            return try await eventually("'\(text)' on the terminal", within: limit) {
                let shown = self.shown
                return shown.contains(text) ? shown : nil
            }
        } catch {
            throw IntegrationError("\(error); shown: \(self.shown)")
        }
    }

    /// What starts a command with this terminal as its standard input, output and error.
    var around: [String] { ["/bin/sh", "-c", #"exec "$@" <"$0" >"$0" 2>&1"#, self.path] }

    /// As ``around``, and the terminal is the command's `/dev/tty`.
    var aroundSession: [String] { self.around + ["setsid", "--ctty"] }
}
