// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Reads the input of a subcommand.
enum Input {
    /// The maximum length of the input, in bytes: twice the largest message, because hex needs two characters per byte,
    /// plus white space.
    static let limit = 40 << 20

    /// Returns the argument, or all of standard input if the argument is missing or `-`.
    static func read(_ argument: String?, limit: Int = Self.limit) throws(Failure) -> [UInt8] {
        if let argument, argument != "-" { return Array(argument.utf8) }
        return try Self.readAll(STDIN_FILENO, limit: limit)
    }

    /// Reads a file.
    static func file(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        let descriptor = try Self.openFile(path)
        defer { close(descriptor) }
        return try Self.readAll(descriptor, limit: limit)
    }

    /// Reads the first line of a file, or of standard input if the path is `-`. Returns it without its end.
    ///
    /// Does not read beyond the line, so that on a terminal one line is enough.
    ///
    /// - Parameter prefix: The beginning of the line to search for, so that the whole output of another command can be
    ///   given. If no line has it, the first one is returned. Defaults to none: any line.
    static func firstLine(
        of path: String,
        beginningWith prefix: String = "",
        limit: Int
    ) throws(Failure) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : try Self.openFile(path)
        defer { if path != "-" { close(descriptor) } }
        let first = try Self.readLine(descriptor, limit: limit)
        var line = first
        // A person who typed something else gets an error instead of another prompt.
        for _ in 0..<16 where !line.starts(with: prefix.utf8) && isatty(descriptor) != 1 {
            line = try Self.readLine(descriptor, limit: limit)
        }
        return line.starts(with: prefix.utf8) ? line : first
    }

    static func readAll(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = try Self.fill(&buffer, from: descriptor)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { throw .inputTooLong(limit) }
        }
    }

    private static func readLine(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        var line: [UInt8] = []
        var buffer: [UInt8] = [0]
        while try Self.fill(&buffer, from: descriptor) > 0, buffer[0] != UInt8(ascii: "\n") {
            line.append(buffer[0])
            guard line.count <= limit else { throw .inputTooLong(limit) }
        }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return line
    }

    private static func openFile(_ path: String) throws(Failure) -> Int32 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure("localResources", "\(path) cannot be read: \(unsafe String(cString: strerror(errno))).")
        }
        return descriptor
    }

    /// Reads at most as many bytes as the buffer has. Returns their number, which is 0 at the end of the input.
    private static func fill(_ buffer: inout [UInt8], from descriptor: Int32) throws(Failure) -> Int {
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw Failure("localResources", "The input cannot be read: \(unsafe String(cString: strerror(errno))).")
            }
            return count
        }
    }
}

extension Failure {
    fileprivate static func inputTooLong(_ limit: Int) -> Failure {
        Failure("messageTooLarge", "The input is longer than \(limit) bytes, the maximum.")
    }
}
