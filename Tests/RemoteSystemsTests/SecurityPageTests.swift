// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// `Docs/security-model.md` names tests that exist, and the attacks that they run.
@Suite struct SecurityPageTests {
    private static let root = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// A row of a table: a promise, an attack or a threat, and the tests that it names with their files.
    private struct Row {
        var subject: String
        var tests: [(name: String, file: String)]
        /// All that the cell of the tests has in backticks.
        var quoted: [String]
    }

    private static func page() throws -> String {
        try String(contentsOf: self.root.appending(path: "Docs/security-model.md"), encoding: .utf8)
    }

    /// The sections with a table of promises.
    private static let sections = [
        "How each promise is tested", "Linked accounts", "Anyone nearby", "Hand-off", "Notifications",
    ]

    /// The rows of the tables whose last column names tests.
    private static func rows(of section: String) throws -> [Row] {
        let sections = try self.page().components(separatedBy: "\n## ")
        let text = try #require(sections.first { $0.hasPrefix("\(section)\n") })
        var (rows, namesTests) = ([Row](), false)
        for line in text.components(separatedBy: "\n") {
            guard line.hasPrefix("| "), line.hasSuffix(" |") else {
                namesTests = false
                continue
            }
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            if let title = cells.last, ["test", "tests"].contains(title) {
                namesTests = true
            } else if namesTests, !line.hasPrefix("| ---"), let row = self.row(cells) {
                rows.append(row)
            }
        }
        return rows
    }

    private static func rows() throws -> [Row] { try self.sections.flatMap { try self.rows(of: $0) } }

    private static func row(_ cells: [String]) -> Row? {
        guard let subject = cells.first, let cell = cells.last else { return nil }
        // Several tests of one file are separated by commas.
        let groups = cell.matches(of: /((?:`[^`]+`(?:, )?)+) \((\w+)\)/)
        let tests = groups.flatMap { group in
            self.quoted(in: String(group.1)).map { (name: $0, file: String(group.2)) }
        }
        return Row(subject: subject, tests: tests, quoted: self.quoted(in: cell))
    }

    private static func quoted(in text: String) -> [String] { text.matches(of: /`([^`]+)`/).map { String($0.1) } }

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
        let ids = text.matches(
            of: /CVE-\d{4}-\d{4,}|GHSA(?:-[0-9a-z]{4}){3}|GO-\d{4}-\d{4}|golang\/go#\d+|syncthing#\d+/
        )
        return Set(ids.map { String($0.0) })
    }

    @Test func `each test that the page names exists in the file that it names`() throws {
        let files = try Self.files()
        let rows = try Self.rows()
        for row in rows {
            #expect(!row.tests.isEmpty, "\(row.subject) names no test")
            #expect(row.tests.map { $0.name } == row.quoted, "\(row.subject) names a test without its file")
            for test in row.tests {
                let found = files[test.file]?.contains { text in
                    text.contains("func `\(test.name)`") || text.contains("@Test(\"\(test.name)\"")
                }
                #expect(found == true, "\(row.subject): there is no '\(test.name)' in \(test.file)")
            }
        }
        #expect(rows.count > 130)
        for section in Self.sections { #expect(try !Self.rows(of: section).isEmpty, "\(section)") }
    }

    @Test func `each suite that the page names exists`() throws {
        let texts = try Self.files().values.joined()
        let suites = try Self.page().matches(of: /`(?:\w+\.)*(\w+Tests)`/).map { String($0.1) }
        for suite in suites {
            #expect(texts.contains { $0.contains("struct \(suite) ") }, "there is no suite \(suite)")
        }
        #expect(!suites.isEmpty)
    }

    @Test func `each attack with an id is in the name of a test of its row`() throws {
        for row in try Self.rows() {
            let named = Set(row.tests.flatMap { Self.attacks(in: $0.name) })
            for id in Self.attacks(in: row.subject) {
                #expect(named.contains(id), "\(id) is in no name of a test of its row")
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
