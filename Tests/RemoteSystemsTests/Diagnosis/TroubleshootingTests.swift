// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystems

/// `Docs/troubleshooting.md` has a line for every code, and for no other.
@Suite struct TroubleshootingTests {
    @Test func `every code of a finding is explained`() throws {
        let root = (1...4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let text = try String(contentsOf: root.appendingPathComponent("Docs/troubleshooting.md"), encoding: .utf8)
        // Lines of the table: | symptom | `code` | cause | what to do |
        let codes = text.split(separator: "\n").compactMap { line -> String? in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, cells[1].hasPrefix("`"), cells[1].hasSuffix("`") else { return nil }
            return String(cells[1].dropFirst().dropLast())
        }
        #expect(Set(codes) == Set(DiagnosisFinding.Code.known.map(\.rawValue)))
        #expect(Set(DiagnosisFinding.Code.known).count == DiagnosisFinding.Code.known.count)
    }
}
