// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

// The coding is checked by an independent CBOR library: Python's cbor2, through Tests/Independent.
@Suite struct IndependentCodingTests {
    private static let interpreter = ProcessInfo.processInfo.environment["REMOTE_SYSTEMS_TEST_PYTHON"] ?? "python3"

    /// Why the check cannot run, or `nil`. Never skipped where `CI` is set: a missing cbor2 is a failure there.
    static let obstacle: String? = {
        guard ProcessInfo.processInfo.environment["CI"] == nil else { return nil }
        guard (try? python(["-c", "import cbor2"]))?.status != 0 else { return nil }
        let how =
            "\(interpreter) has no cbor2. The check with an independent CBOR library is skipped; "
            + "to run it: pip install cbor2"
        print("SKIPPED: \(how)")
        return how
    }()

    @Test(.enabled(if: obstacle == nil, "needs python3 with cbor2: pip install cbor2"), arguments: [UInt64(1), 2, 3])
    func `cbor2 decodes our encoding, and encodes it identically`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed, forPython: true)
        let lines = try (0..<500).map { _ in hex(try generator.value().encoded()) }
        let responses = try Self.script(["check"], input: lines.joined(separator: "\n"))
        try #require(responses.count == lines.count, "seed \(seed)")
        for (line, response) in zip(lines, responses) {
            #expect(response == "same", "seed \(seed): \(line)")
        }
    }

    @Test(.enabled(if: obstacle == nil, "needs python3 with cbor2: pip install cbor2"), arguments: [1, 2, 3])
    func `we decode cbor2's encoding, and encode it identically`(seed: Int) throws {
        let lines = try Self.script(["generate", "\(seed)", "500"])
        try #require(lines.count == 500, "seed \(seed)")
        for line in lines {
            #expect(try hex(Value(encoded: bytes(line)).encoded()) == line, "seed \(seed)")
        }
    }

    private static func script(_ arguments: [String], input: String = "") throws -> [String] {
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Independent/cbor2_check.py").path()
        let result = try python([script] + arguments, input: input)
        try #require(
            result.status == 0,
            "python3 with cbor2 is needed (pip install cbor2), and it failed: \(result.errors)"
        )
        return result.output.split(separator: "\n").map(String.init)
    }

    /// Uses files instead of pipes, since a full pipe would block.
    private static func python(
        _ arguments: [String],
        input: String = ""
    ) throws -> (status: Int32, output: String, errors: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "values-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["in", "out", "err"].map { folder.appending(path: $0) }
        try Data(input.utf8).write(to: files[0])
        for file in files.dropFirst() { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [interpreter] + arguments
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        process.waitUntilExit()
        return (
            process.terminationStatus,
            String(decoding: try Data(contentsOf: files[1]), as: UTF8.self),
            String(decoding: try Data(contentsOf: files[2]).suffix(2000), as: UTF8.self)
        )
    }
}
