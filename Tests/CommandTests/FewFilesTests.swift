// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension CommandTests {
    /// Processes with a very low limit of open files.
    @Suite struct FewFiles {
        private static func limited(to files: Int) -> [String] {
            ["/bin/sh", "-c", "ulimit -n \(files) && exec \"$@\"", "sh"]
        }

        @Test(arguments: [10, 12, 14, 16, 18, 20, 22, 24, 28])
        func `every command survives a low file limit and names the limit it ran into`(files: Int) async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                let list = try await sandbox.start(
                    ["list", "--loopback", "--wait", "0.5"],
                    around: Self.limited(to: files)
                ).finish()
                #expect(list.status == 0 || list.status == 1 || list.status == 2, "\(list)")
                if list.status == 2 { #expect(list.errors.contains("ulimit -n"), "\(list)") }
                let serving = try sandbox.start(
                    ["serve", "--loopback", "--port", "0", "--json"],
                    around: Self.limited(to: files)
                )
                _ = try await eventually("an end, or a second of life", within: .seconds(30)) { () -> Bool? in
                    if serving.process.exitCode != nil { return true }
                    guard serving.process.lines.contains(where: { $0.contains("ready") }) else { return nil }
                    // A crash would follow within a second of real time in another process, which reports nothing when
                    // it survives.
                    try await Task.sleep(for: .seconds(1))
                    return true
                }
                if let status = serving.process.exitCode {
                    #expect(status == 2, "\(serving.errors)")
                    let lines = try await serving.process.allLines()
                    #expect(serving.errors.contains("ulimit -n") || lines.contains { $0.contains("ulimit -n") })
                }
                await serving.process.stop()
            }
        }

        @Test func `a host out of file descriptors waits, reports it once, and continues when it can`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let serving = try sandbox.start(
                    ["serve", "--loopback", "--port", "0", "--json"],
                    around: Self.limited(to: 45)
                )
                let port = try await serving.event("ready")["port"] as? Int ?? 0
                // The callers send nothing and are disconnected after a second. The next ones wait in the listen queue
                // meanwhile.
                let callers = (0..<120).compactMap { _ in Self.connect(to: port) }
                #expect(callers.count == 120)
                _ = try await eventually("a word of it") {
                    serving.errors.contains("No further connection can be taken") ? true : nil
                }
                let before = try Self.processorTime(of: serving.process.id)
                // Measures the processor time that the host uses in two seconds of real time.
                try await Task.sleep(for: .seconds(2))
                let used = try Self.processorTime(of: serving.process.id) - before
                // A host that retries accept(2) without a pause would use all of a processor.
                #expect(used < 1, "\(used) s of processor time in 2 s")
                for caller in callers { close(caller) }
                #expect(serving.errors.components(separatedBy: "No further connection can be taken").count == 2)
                let ping = try await sandbox.run("ping", "127.0.0.1:\(port)", "--count", "1")
                #expect(ping.status == 0, "\(ping)")
                await serving.process.stop()
            }
        }

        private static func connect(to port: Int) -> Int32? {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { return nil }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isConnected { return descriptor }
            close(descriptor)
            return nil
        }

        /// In seconds, of all threads together.
        private static func processorTime(of process: Int32) throws -> Double {
            let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
            guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
            return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
    }
}
