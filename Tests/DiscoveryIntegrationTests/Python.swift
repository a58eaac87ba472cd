// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport

/// Other people's implementation, and a look at the wire.
enum Python {
    /// The interpreter: of a virtual environment that a test script made, or the system's.
    private static let interpreter = ProcessInfo.processInfo.environment["REMOTE_SYSTEMS_TEST_PYTHON"] ?? "python3"

    /// Whether python-zeroconf is there. In CI its tests run in any case, and fail without it.
    static let canUseZeroconf: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [interpreter, "-c", "import zeroconf"]
        process.standardError = FileHandle.nullDevice
        if (try? process.run()) != nil {
            process.waitUntilExit()
            if process.terminationStatus == 0 { return true }
        }
        let text = """
            NOT RUN: tests with python-zeroconf, which is not installed. Make a virtual environment (python3 -m venv DIR; \
            DIR/bin/pip install zeroconf) and set REMOTE_SYSTEMS_TEST_PYTHON=DIR/bin/python\n
            """
        FileHandle.standardError.write(Data(text.utf8))
        return ProcessInfo.processInfo.environment["CI"] != nil
    }()

    static func command(_ script: String, _ arguments: String...) throws -> [String] {
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Scripts")
        return [interpreter, "-u", directory.appendingPathComponent(script).path] + arguments
    }

    /// Prints every frame that an interface receives, in hexadecimal digits.
    static func capture(interface: String) throws -> [String] {
        try command("capture.py", interface)
    }

    static func hex(_ text: String) -> String {
        text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
