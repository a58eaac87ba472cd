// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Python programs: independent implementations and packet captures.
package enum Python {
    /// The interpreter of the virtual environment that the test script created, or the system's.
    package static let interpreter = ProcessInfo.processInfo.environment["REMOTE_SYSTEMS_TEST_PYTHON"] ?? "python3"

    /// Whether python-zeroconf is installed. In CI its tests always run, and fail without it.
    package static let canUseZeroconf: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [interpreter, "-c", "import zeroconf"]
        process.standardError = FileHandle.nullDevice
        if (try? process.run()) != nil {
            process.waitUntilExit()
            if process.terminationStatus == 0 { return true }
        }
        print("SKIPPED: tests with python-zeroconf: it is not installed (REMOTE_SYSTEMS_TEST_PYTHON names a Python)")
        return ProcessInfo.processInfo.environment["CI"] != nil
    }()

    /// The command line for a script of the folder `Scripts` beside a test.
    package static func script(_ name: String, _ arguments: String..., test: String = #filePath) -> [String] {
        command(name, arguments, beside: test)
    }

    package static func script(_ name: String, _ arguments: [String], test: String = #filePath) -> [String] {
        command(name, arguments, beside: test)
    }

    /// The command line that prints every frame an interface receives, in hexadecimal digits.
    /// ``ChildProcess/capturing()`` waits until it captures.
    package static func capture(interface: String) -> [String] {
        command("capture.py", [interface], beside: #filePath)
    }

    /// The command line that stops one thread of a process until the script ends. The thread's name begins with `name`.
    /// The script prints "frozen" once the thread is stopped.
    package static func freeze(_ process: Int32, thread name: String) -> [String] {
        command("freeze.py", ["\(process)", name], beside: #filePath)
    }

    private static func command(_ name: String, _ arguments: [String], beside file: String) -> [String] {
        let directory = URL(fileURLWithPath: file).deletingLastPathComponent()
        return [interpreter, "-u", directory.appendingPathComponent("Scripts/\(name)").path] + arguments
    }

    package static func hex(_ text: String) -> String { hex(Array(text.utf8)) }

    package static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Decodes lower-case RFC 4648 base32 without padding, which is how ids are written.
    package static func base32(_ text: String) -> [UInt8] {
        var (bytes, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
        for character in text.utf8 {
            let digit = character >= 0x61 ? character - 0x61 : character - 0x32 + 26
            bits = bits << 5 | UInt32(digit)
            count += 5
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            bits &= (1 << count) - 1
        }
        return bytes
    }
}

extension ChildProcess {
    /// Waits until the capture has started.
    package func capturing() async throws {
        _ = try await eventually("a look at the wire", within: .seconds(20)) {
            self.lines.contains("capturing") ? true : nil
        }
    }
}
