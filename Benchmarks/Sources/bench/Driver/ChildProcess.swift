// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CBenchSupport
import FoundationEssentials
import Glibc
import Synchronization

/// A child process that communicates in lines over its standard input and output.
///
/// Must be started on the main thread: the kernel kills it when the thread that started it ends.
final class ChildProcess: Sendable {
    let pid: Int32
    private let input: Int32
    private let output: Int32
    private let unread = Mutex<[UInt8]>([])

    /// - Parameters:
    ///   - command: The program and its arguments. A program without a slash is searched in `PATH`.
    ///   - environment: Variables in addition to this process's environment.
    ///   - shared: The memory to share with the child.
    ///   - isSilent: Whether the child's standard error is discarded.
    init(
        _ command: [String],
        environment: [String: String] = [:],
        shared: SharedCounter? = nil,
        isSilent: Bool = false
    ) throws {
        var child = bench_child()
        var variables = ProcessInfo.processInfo.environment
        // Allocations in children of the child are not counted.
        variables["LD_PRELOAD"] = nil
        variables.merge(environment) { $1 }
        let program = try Self.path(of: command[0])
        let arguments = unsafe Self.strings([program] + command.dropFirst())
        let entries = unsafe Self.strings(variables.map { "\($0)=\($1)" })
        defer {
            unsafe arguments.forEach { unsafe free($0) }
            unsafe entries.forEach { unsafe free($0) }
        }
        let failure = unsafe bench_spawn(arguments, entries, shared?.descriptor ?? -1, isSilent, &child)
        guard failure == 0 else {
            throw BenchError("\(program) cannot be started: \(unsafe String(cString: strerror(failure)))")
        }
        pid = child.pid
        input = child.input
        output = child.output
    }

    private static func strings(_ strings: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe strings.map { unsafe strdup($0) } + [nil]
    }

    private static func path(of program: String) throws -> String {
        if program.contains("/") { return program }
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
        for folder in folders + ["/usr/bin", "/bin"] {
            let path = "\(folder)/\(program)"
            if unsafe access(path, X_OK) == 0 { return path }
        }
        throw BenchError("\(program) is not installed.")
    }

    func writeLine(_ line: some Sequence<UInt8>) throws {
        let bytes = Array(line) + [UInt8(ascii: "\n")]
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes[written...].withUnsafeBytes { unsafe write(input, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BenchError("Process \(pid) closed its standard input.") }
            written += count
        }
    }

    /// Reads the next line, without its line break.
    func readLine(within seconds: Double) throws -> [UInt8] {
        let deadline = monotonicNanoseconds() + Int64(seconds * 1e9)
        return try unread.withLock { unread in
            var searched = 0
            while true {
                if let end = unread[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                    defer { unread.removeSubrange(...end) }
                    return Array(unread[..<end])
                }
                searched = unread.count
                let left = deadline - monotonicNanoseconds()
                guard left > 0 else { throw BenchError("Process \(pid) did not respond within \(seconds) s.") }
                try receive(into: &unread, within: left)
            }
        }
    }

    private func receive(into unread: inout [UInt8], within nanoseconds: Int64) throws {
        var interest = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&interest, 1, Int32(clamping: nanoseconds / 1_000_000 + 1)) > 0 else { return }
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(output, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { return }
        guard count > 0 else { throw BenchError("Process \(pid) ended early.") }
        unread += chunk[..<count]
    }

    /// The private resident memory of a process, in bytes.
    static func privateBytes(of pid: Int32) throws -> Int64 {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix("RssAnon:") {
            let words = line.split { $0 == " " || $0 == "\t" }
            if words.count > 1, let kibibytes = Int64(words[1]) { return kibibytes * 1024 }
        }
        throw BenchError("The memory of process \(pid) cannot be determined.")
    }

    /// The processor time of all threads of a process, ended ones included, in seconds.
    static func processorSeconds(of pid: Int32) throws -> Double {
        let nanoseconds = bench_processor_nanoseconds(pid)
        guard nanoseconds >= 0 else {
            throw BenchError("The processor time of process \(pid) cannot be determined.")
        }
        return Double(nanoseconds) / 1e9
    }

    /// The number of entries of a directory; 0 if it cannot be read.
    static func entries(of directory: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
    }

    /// Ends the process and waits for it. Closes its input first, then kills it if it does not end soon.
    func stop() {
        close(input)
        for _ in 0..<100 {
            if bench_has_ended(pid) {
                close(output)
                return
            }
            usleep(5000)
        }
        kill(pid, SIGKILL)
        for _ in 0..<1000 where !bench_has_ended(pid) { usleep(1000) }
        close(output)
    }
}
