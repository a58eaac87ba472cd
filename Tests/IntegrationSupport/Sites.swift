// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// HTTPS sites on loopback with a test authority (`Scripts/site.py`).
package struct Sites: Sendable {
    /// What the sites approve.
    package static let approved = "KEY1.com.example.reader"

    /// The directory with the authority, the certificates and the signed files.
    package let directory: String
    package let port: Int
    private let server: ChildProcess

    /// Runs a body while the sites are served.
    ///
    /// - Parameter application: a further application that the sites approve. Defaults to none.
    package static func with(
        approving application: String? = nil,
        _ body: (Sites) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "sites-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let server = try ChildProcess(Python.script("site.py", [directory] + [application].compactMap(\.self)))
        do {
            let port = try await eventually("the sites", within: .seconds(60)) { () -> Int? in
                server.lines.lazy.compactMap { line in
                    line.hasPrefix("port ") ? Int(line.dropFirst(5)) : nil
                }.first
            }
            try await body(Sites(directory: directory, port: port, server: server))
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// The requests to a host so far, as paths.
    package func requests(to host: String) -> [String] {
        self.server.lines.compactMap { line in
            let parts = line.split(separator: " ")
            return parts.count == 3 && parts[1] == host ? String(parts[2]) : nil
        }
    }
}
