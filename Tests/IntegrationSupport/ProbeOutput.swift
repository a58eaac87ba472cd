// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One line of JSON that a test program printed.
package struct ProbeLine: Sendable, Decodable {
    package let time: Double
    package let event: String
    package let id: String?
    package let endpoints: String?
    package let interfaces: String?
    package let properties: String?
    package let code: String?
    package let message: String?
    package let backend: String?
    package let files: String?
}

extension ChildProcess {
    /// The lines of JSON printed so far.
    package var events: [ProbeLine] {
        lines.compactMap { try? JSONDecoder().decode(ProbeLine.self, from: Data($0.utf8)) }
    }

    /// Waits for the first line that matches, starting at an index.
    @discardableResult
    package func event(
        _ what: String,
        from start: Int = 0,
        within limit: Duration = .seconds(15),
        where isWanted: (ProbeLine) -> Bool = { _ in true }
    ) async throws -> ProbeLine {
        do {
            return try await eventually("\(what)", within: limit) {
                self.events.dropFirst(start).first { $0.event == what && isWanted($0) }
            }
        } catch {
            throw IntegrationError("\(error); printed so far: \(lines.joined(separator: " | "))")
        }
    }
}

/// The path of a program that was built with the tests.
package func builtProgram(_ name: String) throws -> String {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let path = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name).path
    guard FileManager.default.isExecutableFile(atPath: path) else {
        throw IntegrationError("\(path) is missing: build it with swift build --build-tests")
    }
    return path
}

extension ChildProcess {
    /// Whether a matching line was printed, starting at an index.
    package func printed(_ event: String, id: String? = nil, from start: Int = 0) -> Bool {
        events.dropFirst(start).contains { $0.event == event && (id == nil || $0.id == id) }
    }
}
