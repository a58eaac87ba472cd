// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes a script that can be run at once.
///
/// Another process makes the file. If this one did, a child that another test starts at that moment would have the file
/// open for writing until it runs its own program, and the kernel would not run the script ("Text file busy").
package func writeProgram(_ text: String, to path: String) throws {
    let source = "\(path).text"
    try text.write(toFile: source, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: source) }
    let copying = Process()
    copying.executableURL = URL(filePath: "/usr/bin/install")
    copying.arguments = ["-m", "755", source, path]
    try copying.run()
    copying.waitUntilExit()
    guard copying.terminationStatus == 0 else { throw IntegrationError("\(path) was not written.") }
}
