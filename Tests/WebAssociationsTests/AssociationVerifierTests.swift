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

    /// A site that responds to every request in the same way.
    private final class Site: AssociationClient {
        /// `nil` while the site cannot be reached.
        private let response = Mutex<AssociationResponse?>(nil)

        func respond(_ response: AssociationResponse?) { self.response.withLock { $0 = response } }

        /// Responds with a file that lists applications.
        func list(_ applications: [String]) {
            let apps = applications.map { "\"\($0)\"" }.joined(separator: ",")
            self.respond(Self.file(#"{"activitycontinuation":{"apps":[\#(apps)]}}"#))
        }

        static func file(_ text: String) -> AssociationResponse {
            AssociationResponse(status: 200, fields: ["content-type": "application/json"], body: Array(text.utf8))
        }

        func get(_ path: String, from host: String) async throws(AssociationFailure) -> AssociationResponse {
            guard let response = self.response.withLock({ $0 }) else {
                throw AssociationFailure(.unreachable, "The server of \(host) cannot be reached.")
            }
            return response
        }
    }

    /// Runs `body` with a verifier whose requests a site responds to.
    private static func with(_ body: (Site, AssociationVerifier) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "associations-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let configuration = RemoteSystemsConfiguration(
            applicationID: "com.example.asking",
            network: .loopback,
            stateDirectory: directory.path
        )
        let site = Site()
        try await body(site, AssociationVerifier(configuration, timeLimit: .seconds(60)) { _, _ in site })
    }

    @Test func `an approval stays while its site cannot be reached, and ends when the file does not list it`()
        async throws
    {
        try await Self.with { site, verifier in
            let both = [Self.first, Self.second]
            func codes(_ applications: [String]) async -> [AssociationFailure.Code?] {
                await verifier.verify(applications, by: Self.host).map { $0.failure?.code }
            }
            func remembered() -> [String: AssociationFailure.Code?] {
                Dictionary(uniqueKeysWithValues: verifier.cache.entries.map { ($0.application, $0.failure?.code) })
            }

            site.list([Self.first])
            let approved = await codes([Self.first])
            #expect(approved == [nil])
            let approval = verifier.cache.entries
            // The other application has no entry, so the site is asked for both.
            site.respond(nil)
            let unreachable = await codes(both)
            #expect(unreachable == [nil, .unreachable])
            let reversed = await codes(both.reversed())
            #expect(reversed == [.unreachable, nil])
            #expect(remembered() == [Self.first: nil, Self.second: .unreachable])
            #expect(verifier.cache.entries.first { $0.application == Self.first } == approval.first)
            // An answer counts at once, for all that were asked.
            let third = "KEY.com.example.third"
            site.list([Self.second, third])
            let changed = await codes([Self.first, Self.second, third])
            #expect(changed == [.notListed, nil, nil])
            #expect(remembered() == [Self.first: .notListed, Self.second: nil, third: nil])
        }
    }

    private static let responses: [(AssociationResponse, AssociationFailure.Code, Bool)] = [
        (AssociationResponse(status: 404), .noFile, true), (AssociationResponse(status: 410), .noFile, true),
        (Site.file("no JSON"), .malformed, true), (AssociationResponse(status: 200), .contentType, true),
        (AssociationResponse(status: 403), .noFile, false), (AssociationResponse(status: 503), .noFile, false),
    ]

    @Test(arguments: Self.responses)
    func `an approval ends when the file was removed or is not valid, and stays after an error of the server`(
        response: AssociationResponse,
        code: AssociationFailure.Code,
        endsApproval: Bool
    ) async throws {
        try await Self.with { site, verifier in
            site.list([Self.first])
            let approved = await verifier.verify([Self.first], by: Self.host)
            #expect(approved.map(\.failure) == [nil])
            site.respond(response)
            // The other application has no entry, so the site is asked.
            let both = await verifier.verify([Self.first, Self.second], by: Self.host)
            #expect(both.map { $0.failure?.code } == [endsApproval ? code : nil, code])
            let next = await verifier.verify([Self.first], by: Self.host)
            #expect(next.map { $0.failure?.code } == [endsApproval ? code : nil])
        }
    }
}
