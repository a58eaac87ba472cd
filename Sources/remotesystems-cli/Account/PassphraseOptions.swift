// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// The source of a passphrase. It is never an argument: every user of the machine can read arguments.
struct PassphraseOptions: ParsableArguments {
    @Option(
        name: .customLong("passphrase-file"),
        help: ArgumentHelp(
            "Read the passphrase from the first line of this file instead of the terminal; '-' for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var file: String?

    /// Reads the passphrase from the file or, without one, from the terminal.
    ///
    /// - Parameter asNew: Whether a terminal asks for the passphrase twice.
    func read(asNew: Bool) throws(Failure) -> [UInt8] {
        guard let file = self.file else { return try Self.ask(asNew: asNew) }
        return try Input.firstLine(of: file, limit: Self.limit)
    }

    private static let limit = 1 << 16

    private static func ask(asNew: Bool) throws(Failure) -> [UInt8] {
        let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else {
            throw Failure(
                "localResources",
                "There is no terminal to read the passphrase from. Use --passphrase-file FILE (- for standard input)."
            )
        }
        defer { close(terminal) }
        let first = try Self.ask("Passphrase: ", on: terminal)
        guard asNew else { return first }
        guard try Self.ask("Repeat the passphrase: ", on: terminal) == first else {
            throw Failure("identity", "The two passphrases differ. Nothing was written. Try again.")
        }
        return first
    }

    /// Reads a line, which the terminal does not show. Its settings are restored also when a signal ends the process.
    private static func ask(_ prompt: String, on terminal: Int32) throws(Failure) -> [UInt8] {
        var before = termios()
        guard unsafe tcgetattr(terminal, &before) == 0 else { throw .noSilentTerminal }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        return try SilentTerminal.restoring(before, of: terminal) { () throws(Failure) in
            guard unsafe tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else { throw .noSilentTerminal }
            defer {
                unsafe tcsetattr(terminal, TCSAFLUSH, &before)
                _ = unsafe write(terminal, "\n", 1)
            }
            _ = unsafe write(terminal, prompt, prompt.utf8.count)
            return try Self.line(from: terminal)
        }
    }

    /// Reads a line key by key, so that the terminal settings are restored whichever key ends the line.
    private static func line(from terminal: Int32) throws(Failure) -> [UInt8] {
        var line: [UInt8] = []
        var key: UInt8 = 0
        while line.count < Self.limit {
            let count = unsafe Glibc.read(terminal, &key, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { throw Failure("cancelled", "The terminal was closed.") }
            switch key {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return line
            // Ctrl-C, Ctrl-D, Ctrl-\.
            case 0x03, 0x04, 0x1C:
                throw Failure("cancelled", "The command was cancelled before it completed.", canRetry: true)
            // Ctrl-U.
            case 0x15: line = []
            case 0x08, 0x7F: Self.removeLastCharacter(&line)
            default: line.append(key)
            }
        }
        return line
    }

    /// Removes the last character, with all bytes of its UTF-8 encoding.
    private static func removeLastCharacter(_ line: inout [UInt8]) {
        while let byte = line.popLast(), byte & 0xC0 == 0x80 {}
    }
}

extension Failure {
    fileprivate static let noSilentTerminal = Failure(
        "localResources",
        "The terminal cannot hide the passphrase. Use --passphrase-file FILE (- for standard input)."
    )
}
