// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The section "How each promise is tested" of `Docs/security-model.md` names tests that exist, and the attacks that
/// they run.
@Suite struct SecurityPageTests {
    private static let root = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// A row of one of the section's tables: a promise or an attack, and the tests that it names with their files.
    private struct Row {
        var subject: String
        var tests: [(name: String, file: String)]
    }

    private static func rows() throws -> [Row] {
        let page = try String(contentsOf: self.root.appending(path: "Docs/security-model.md"), encoding: .utf8)
        let section = page.components(separatedBy: "\n## ").first { $0.hasPrefix("How each promise is tested\n") }
        return try #require(section).split(separator: "\n").compactMap { line in
            guard line.hasPrefix("| "), !line.hasPrefix("| ---"), let cell = line.dropLast(2).range(of: " | ") else {
                return nil
            }
            let tests = line[cell.upperBound...].matches(of: /`([^`]+)` \((\w+)\)/)
            let subject = String(line[..<cell.lowerBound].dropFirst(2))
            return Row(subject: subject, tests: tests.map { (String($0.1), String($0.2)) })
        }.filter { !["promise", "attack"].contains($0.subject) }
    }

    /// The text of each file of tests, by its name without the extension. Several folders may have a file of one name.
    private static func files() throws -> [String: [String]] {
        let folder = self.root.appending(path: "Tests")
        var files: [String: [String]] = [:]
        for path in try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap({ $0 as? String })
        where path.hasSuffix("Tests.swift") && !path.contains(".build/") {
            let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
            files[name, default: []].append(try String(contentsOf: folder.appending(path: path), encoding: .utf8))
        }
        return files
    }

    /// The ids of published weaknesses in a text.
    private static func attacks(in text: String) -> Set<String> {
        let ids = text.matches(of: /CVE-\d{4}-\d{4,}|GHSA(?:-[0-9a-z]{4}){3}|GO-\d{4}-\d{4}|golang\/go#\d+/)
        return Set(ids.map { String($0.0) })
    }

    @Test func `each test that the page names exists in the file that it names`() throws {
        let files = try Self.files()
        let rows = try Self.rows()
        for row in rows {
            #expect(!row.tests.isEmpty, "\(row.subject) names no test")
            for test in row.tests {
                let found = files[test.file]?.contains { $0.contains("func `\(test.name)`") }
                #expect(found == true, "\(row.subject): there is no '\(test.name)' in \(test.file)")
            }
        }
        #expect(rows.count > 60)
    }

    @Test func `each attack with an id names a test beside which the id is cited`() throws {
        let files = try Self.files()
        for row in try Self.rows() {
            let texts = row.tests.flatMap { files[$0.file] ?? [] }
            for id in Self.attacks(in: row.subject) {
                #expect(texts.contains { $0.contains(id) }, "\(id) is cited in no file of its row")
            }
        }
    }

    @Test func `each id that a test cites is on the page`() throws {
        let listed = Set(try Self.rows().flatMap { Self.attacks(in: $0.subject) })
        for (name, texts) in try Self.files() where name != "SecurityPageTests" {
            for id in texts.flatMap({ Self.attacks(in: $0) }) {
                #expect(listed.contains(id), "\(name) cites \(id), which is not on the page")
            }
        }
    }
}
