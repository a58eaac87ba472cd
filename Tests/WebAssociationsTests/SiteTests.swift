// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import RemoteSystemsDesktop
import Testing
import WebAssociationsHTTP

@testable import WebAssociations

/// Association files of real HTTPS servers with a test authority: what approves an application, and every failure.
@Suite(.timeLimit(.minutes(5)), .serialized) struct SiteTests {
    private static let wellKnown = "/.well-known/apple-app-site-association"
    private static let root = "/apple-app-site-association"

    @Test func `a site approves what its file lists, and only at its own host (H-83, H-84, H-85, H-87, X-11)`()
        async throws
    {
        try await Sites.with { sites in
            for (host, paths) in [
                ("plain.example", [Self.wellKnown]), ("root.example", [Self.wellKnown, Self.root]),
                ("moved.example", [Self.wellKnown, "/elsewhere?a=b"]), ("signed-rsa.example", [Self.wellKnown]),
                ("signed-ec.example", [Self.wellKnown]), ("a.wild.example", [Self.wellKnown]),
            ] {
                let verifier = try sites.verifier(asking: [host])
                // The second is of the same application and another publisher, the third of the same publisher.
                let applications = [Sites.approved, "KEY3.com.example.reader", "KEY1.com.example.else"]
                let entries = await verifier.verify(applications, by: host)
                #expect(entries.map { $0.failure?.code } == [nil, .notListed, .notListed], "\(host): \(entries)")
                // What the server prints arrives a moment after its response.
                _ = try await eventually("the server's log") {
                    sites.requests(to: host).count >= paths.count ? true : nil
                }
                #expect(sites.requests(to: host) == paths)
                // Remembered: the site is asked once.
                #expect(await verifier.approvals(of: [Sites.approved], by: host) == [Sites.approved: .approved])
                #expect(sites.requests(to: host) == paths)
            }
        }
    }

    @Test func `a site with a faulty file approves nothing (H-83, H-85, H-87, X-03, X-11)`() async throws {
        let failures: [(host: String, code: AssociationFailure.Code)] = [
            ("gone.example", .noFile), ("error.example", .noFile),
            ("wrong-name.example", .notTrusted), ("self-signed.example", .notTrusted),
            ("expired.example", .notTrusted),
            ("to-http.example", .redirected), ("to-other.example", .redirected), ("loop.example", .redirected),
            ("large.example", .tooLarge), ("page.example", .contentType), ("compressed.example", .contentType),
            ("broken.example", .malformed), ("unsigned.example", .malformed), ("unlisted.example", .notListed),
            ("altered.example", .badSignature), ("foreign-signer.example", .badSignature),
            ("untrusted-signer.example", .badSignature), ("mail-signer.example", .badSignature),
            ("past-signer.example", .badSignature),
        ]
        try await Sites.with { sites in
            let verifier = try sites.verifier(asking: failures.map(\.host))
            for (host, code) in failures {
                let entries = await verifier.verify([Sites.approved], by: host)
                #expect(entries.map(\.failure?.code) == [code], "\(host): \(entries.first?.failure?.message ?? "-")")
                #expect(await verifier.approvals(of: [Sites.approved], by: host)[Sites.approved] != .approved)
            }
            // A redirect is never followed to another host, and an error at the first path is the site's word.
            _ = try await eventually("the server's log") { () -> Bool? in
                let isWhole = sites.requests(to: "loop.example").count >= 4
                return isWhole && !sites.requests(to: "error.example").isEmpty ? true : nil
            }
            #expect(sites.requests(to: "plain.example").isEmpty)
            #expect(sites.requests(to: "error.example") == [Self.wellKnown])
            #expect(sites.requests(to: "loop.example").count == 4)
        }
    }

    @Test func `a site that sends slowly or does not respond ends with the time limit`() async throws {
        try await Sites.with { sites in
            let slow = try sites.verifier(asking: ["slow.example"], timeLimit: .milliseconds(500))
            #expect(await slow.verify([Sites.approved], by: "slow.example").map(\.failure?.code) == [.timedOut])
            let configuration = try sites.machine(asking: [])
            try AssociationSettings.change(configuration) {
                // Nothing listens on the port.
                $0.sites["plain.example"] = .init(address: .init(host: "127.0.0.1", port: 1))
            }
            let nothing = AssociationVerifier(configuration, makeClient: HTTPSAssociationClient.make)
            let failure = await nothing.verify([Sites.approved], by: "plain.example").first?.failure
            #expect(failure?.code == .unreachable)
            let message = "The server of plain.example cannot be reached: Connection refused."
            #expect(failure?.message == message)
            // The reason reaches the user, who would otherwise look for the error in the site's file.
            let results = await nothing.approvals(of: [Sites.approved], by: "plain.example")
            #expect(results == [Sites.approved: .notApproved(message)])
        }
    }

    @Test func `an authority counts only if the machine trusts it (H-87)`() async throws {
        try await Sites.with { sites in
            let verifier = try sites.verifier(asking: ["plain.example"], isTrusting: false)
            let failure = await verifier.verify([Sites.approved], by: "plain.example").first?.failure
            #expect(failure?.code == .notTrusted)
            #expect(failure?.message.contains("no authority that this machine trusts has issued it") == true)
        }
    }

    @Test func `a host of this machine or of a private network is not asked unless the user permits it`() async throws {
        // The name is looked up by the system, and means this machine on every system (RFC 6761).
        let client = try HTTPSAssociationClient(sites: [:], authorities: [])
        do throws(AssociationFailure) {
            _ = try await client.get("/", from: "localhost")
            Issue.record("a request was sent")
        } catch {
            #expect(error.code == .privateAddress)
        }
    }
}
