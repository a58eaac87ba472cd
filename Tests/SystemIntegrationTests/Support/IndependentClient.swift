// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

/// The client in `Tests/Independent`, and the commands that it connects to.
enum IndependentClient {
    private static let interpreter = ProcessInfo.processInfo.environment["REMOTE_SYSTEMS_TEST_PYTHON"] ?? "python3"

    /// Why its test cannot run.
    static let obstacle: String? = {
        let parts = "import cbor2; cbor2.loads(b'\\xa0', allow_indefinite=False)"
        let advice = "pip install 'cbor2>=6', or name a Python that has it in REMOTE_SYSTEMS_TEST_PYTHON"
        if !succeeds([interpreter, "-c", parts]) { return "it needs cbor2 6 or newer: \(advice)" }
        if !succeeds(["openssl", "version"]) { return "it needs the openssl command: apt-get install openssl" }
        return nil
    }()

    /// Where `CI` is set the test always runs, and fails without its parts.
    static let isToBeTried: Bool = {
        guard let obstacle else { return true }
        print("SKIPPED: the test with an independent client: \(obstacle)")
        return ProcessInfo.processInfo.environment["CI"] != nil
    }()

    private static func succeeds(_ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Runs a body with a temporary state directory, and removes it with everything beside it.
    static func withAccount<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let parent = FileManager.default.temporaryDirectory.appendingPathComponent("independent-\(UUID().uuidString)")
        let state = parent.appendingPathComponent("state")
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(at: state, withIntermediateDirectories: true, attributes: attributes)
        defer { try? FileManager.default.removeItem(at: parent) }
        return try await body(state.path)
    }

    /// Starts `remotesystems` on loopback.
    static func command(_ arguments: String..., state: String) throws -> ChildProcess {
        let options = ["--loopback", "--json", "--state-directory", state]
        return try ChildProcess([try builtProgram("remotesystems")] + arguments + options, readsErrors: true)
    }

    /// Runs the checks, and records those that fail.
    static func check(directory: String, invitation: String, address: String) async throws {
        let root = (1...4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let script = root.appendingPathComponent("Tests/Independent/client_check.py").path
        let vectors = root.appendingPathComponent("Docs/wire-vectors.json").path
        let process = try ChildProcess(
            [interpreter, "-B", script, directory, invitation, address, vectors],
            readsErrors: true
        )
        try await process.orStopped {
            let status = try await process.exit(within: .seconds(120))
            let lines = try await process.allLines()
            for line in lines where !line.hasPrefix("ok ") { print("independent client: \(line)") }
            for failure in lines where failure.hasPrefix("FAIL ") { Issue.record("\(failure)") }
            guard status == 0 else { throw IntegrationError("the checks ended with \(status): \(lines.last ?? "")") }
        }
    }
}

extension ChildProcess {
    /// Runs the body with the program, and stops the program if the body fails.
    func orStopped<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            await stop()
            throw error
        }
    }
}
