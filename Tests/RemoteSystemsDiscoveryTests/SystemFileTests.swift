// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import RemoteSystemsDiscovery

/// Reading files of the kernel and of the system.
@Suite struct SystemFileTests {
    private static func with(_ body: (_ directory: String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "system-file-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }

    @Test func `a file is read to its end, also an empty one, up to the limit`() throws {
        try Self.with { directory in
            let path = directory + "/file"
            for length in [0, 1, 4096, 10_000] {
                let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                try Data(bytes).write(to: URL(filePath: path))
                #expect(SystemFile.bytes(of: path) == bytes)
                #expect(SystemFile.text(of: path)?.utf8.count == length)
                #expect(SystemFile.bytes(of: path, limit: length) == bytes)
                if length > 0 { #expect(SystemFile.bytes(of: path, limit: length - 1) == nil) }
            }
            try Data([0x61, 0xFF]).write(to: URL(filePath: path))
            #expect(SystemFile.text(of: path) == "a\u{FFFD}")
        }
    }

    @Test func `a file of the kernel is read although its size is 0`() throws {
        let status = try #require(SystemFile.text(of: "/proc/self/stat"))
        #expect(status.hasPrefix("\(getpid()) ("))
    }

    @Test func `what is missing or no file has no contents, and a named pipe does not block`() throws {
        try Self.with { directory in
            #expect(SystemFile.bytes(of: directory + "/missing") == nil)
            #expect(SystemFile.bytes(of: directory) == nil)
            let pipe = directory + "/pipe"
            #expect(unsafe mkfifo(pipe, 0o600) == 0)
            #expect(SystemFile.bytes(of: pipe) == [])
        }
    }
}
