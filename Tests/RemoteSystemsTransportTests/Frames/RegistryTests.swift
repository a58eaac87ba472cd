// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// `Docs/wire/registry.md` names everything on the wire, and nothing else.
@Suite struct RegistryTests {
    private static let page = (1...4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        .appending(path: "Docs/wire/registry.md")

    /// The rows of a section's table, without the heading, each as its cells.
    private static func rows(of section: String) throws -> [[String]] {
        let text = try String(contentsOf: self.page, encoding: .utf8)
        let start = try #require(text.range(of: "\n## \(section)\n"), "There is no section \(section).")
        let rest = text[start.upperBound...]
        let body = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
        return body.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2).map { row in
            row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The texts between backquotes.
    private static func names(in cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .compactMap { $0.offset.isMultiple(of: 2) ? nil : String($0.element) }
    }

    @Test func `every kind of frame is listed with its number`() throws {
        let kinds = (0...UInt64(64)).compactMap { number in
            Frame.Kind(rawValue: number).map { [String(number), "\($0)"] }
        }
        let listed = try Self.rows(of: "Frame kinds").filter { Int($0[0]) != nil }.map { Array($0.prefix(2)) }
        #expect(listed == kinds)
    }

    @Test func `every key of a hello, an acceptance and a failure is listed with its message`() throws {
        let limits = PeerLimits(messageBytes: 1024, window: 1, windowBytes: 1024)
        let hello = Hello(
            service: "s",
            targetApplication: "p",
            application: "a",
            limits: limits,
            features: ["f"],
            requires: ["f"],
            stream: StreamClaim(
                ticket: try #require(StreamTicket(bytes: [UInt8](repeating: 0, count: 16))),
                purpose: "p"
            )
        )
        let acceptance = Acceptance(
            application: "a",
            limits: limits,
            schemas: PublishedSchemas(request: [:], response: [:], pushRequest: [:], pushResponse: [:]),
            features: ["f"]
        )
        var failure = WireFailure("", code: .busy, port: 1)
        failure.withdrawal = [1]
        var keys: [String: Set<String>] = [:]
        for row in try Self.rows(of: "Keys of hello, accept and failure") {
            for frame in row[1].split(separator: ", ") {
                keys[String(frame), default: []].formUnion(Self.names(in: row[0]))
            }
        }
        #expect(
            keys == [
                "hello": Set(hello.valueSet.keys), "accept": Set(acceptance.valueSet.keys),
                "failure": Set(failure.valueSet.keys),
            ]
        )
    }

    @Test func `every key of a state frame is listed`() throws {
        let section = "Topics and keys of state frames"
        let keys = try Self.rows(of: section).flatMap { Self.names(in: $0[0]) }
        #expect(keys.sorted() == StateMessage.Key.all.sorted())
    }

    @Test func `every reason that ends a subscription is documented`() throws {
        let page = try String(
            contentsOf: Self.page.deletingLastPathComponent().appending(path: "published-state.md"),
            encoding: .utf8
        )
        let rows = page[try #require(page.range(of: "## Broken rules")).upperBound...].split(separator: "\n")
            .filter { $0.hasPrefix("| `") && !$0.hasPrefix("| `reason`") && !$0.hasPrefix("| `subscribe`") }
        let reasons = StateEndReason.registered.map(\.rawValue) + StateObjection.allCases.map(\.rawValue)
        #expect(rows.map { Self.names(in: String($0))[0] } == reasons)
    }

    @Test func `the ALPN names are those that are offered`() throws {
        let names = try Self.rows(of: "ALPN protocol names").flatMap { Self.names(in: $0[0]) }
        #expect(names == [ProtocolVersion.alpn, JoinMessage.alpn, PairingMessage.alpn])
    }
}
