// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Synchronization
import Testing

@testable import WebAssociations

/// What is remembered of sites that are asked again (H-83).
@Suite struct AssociationVerifierTests {
    private static let (host, first, second) = ("a.example", "KEY.com.example.first", "KEY.com.example.second")

    /// A site whose file lists applications; `nil` while it cannot be reached.
    private final class Site: AssociationClient {
        let listed = Mutex<[String]?>(nil)

        func get(_ path: String, from host: String) async throws(AssociationFailure) -> AssociationResponse {
            guard let listed = self.listed.withLock({ $0 }) else {
                throw AssociationFailure(.unreachable, "The server of \(host) cannot be reached.")
            }
            let apps = listed.map { "\"\($0)\"" }.joined(separator: ",")
            let body = Array(#"{"activitycontinuation":{"apps":[\#(apps)]}}"#.utf8)
            return AssociationResponse(status: 200, fields: ["content-type": "application/json"], body: body)
        }
    }

    @Test func `an approval stays while its site cannot be reached, and ends when the file does not list it`()
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "associations-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let configuration = RemoteSystemsConfiguration(
            applicationID: "com.example.asking",
            network: .loopback,
            stateDirectory: directory.path
        )
        let site = Site()
        let verifier = AssociationVerifier(configuration, timeLimit: .seconds(60)) { _, _ in site }
        let both = [Self.first, Self.second]
        func codes(_ applications: [String]) async -> [AssociationFailure.Code?] {
            await verifier.verify(applications, by: Self.host).map { $0.failure?.code }
        }
        func remembered() -> [String: AssociationFailure.Code?] {
            Dictionary(uniqueKeysWithValues: verifier.cache.entries.map { ($0.application, $0.failure?.code) })
        }

        site.listed.withLock { $0 = [Self.first] }
        let approved = await codes([Self.first])
        #expect(approved == [nil])
        let approval = verifier.cache.entries
        // The other application has no entry, so the site is asked for both.
        site.listed.withLock { $0 = nil }
        let unreachable = await codes(both)
        #expect(unreachable == [nil, .unreachable])
        let reversed = await codes(both.reversed())
        #expect(reversed == [.unreachable, nil])
        #expect(remembered() == [Self.first: nil, Self.second: .unreachable])
        #expect(verifier.cache.entries.first { $0.application == Self.first } == approval.first)
        // An answer counts at once, for all that were asked.
        let third = "KEY.com.example.third"
        site.listed.withLock { $0 = [Self.second, third] }
        let changed = await codes([Self.first, Self.second, third])
        #expect(changed == [.notListed, nil, nil])
        #expect(remembered() == [Self.first: .notListed, Self.second: nil, third: nil])
    }
}
