// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import UserActivities

/// The claims of domains in manifests.
@Suite struct AssociatedDomainTests {
    @Test func `a claim is for exactly its host (H-82, H-88)`() throws {
        let domain = try AssociatedDomain("activitycontinuation:example.com")
        #expect(domain.claims("example.com"))
        for other in ["www.example.com", "badexample.com", "example.com.evil.org", "example.org", "com", ""] {
            #expect(!domain.claims(other), "\(other)")
        }
        #expect("\(domain)" == "activitycontinuation:example.com")
    }

    @Test func `a claim with a wildcard is for the hosts below, and only for those (H-88)`() throws {
        let domain = try AssociatedDomain("activitycontinuation:*.example.com")
        #expect(domain.claims("www.example.com") && domain.claims("a.b.example.com"))
        for other in ["example.com", ".example.com", "badexample.com", "www.example.org"] {
            #expect(!domain.claims(other), "\(other)")
        }
    }

    @Test(
        arguments: [
            "example.com", "applinks:example.com", "activitycontinuation: example.com",
            "activitycontinuation:https://example.com", "activitycontinuation:example.com:443",
            "activitycontinuation:example.com/path", "activitycontinuation:192.0.2.1", "activitycontinuation:[::1]",
            "activitycontinuation:localhost", "activitycontinuation:*.com", "activitycontinuation:Example.com",
            "activitycontinuation:bücher.example", "activitycontinuation:-a.example", "activitycontinuation:a..example",
            "activitycontinuation:example.com.", "activitycontinuation:", "activitycontinuation:*.*.example.com",
            "activitycontinuation:user@example.com",
            "activitycontinuation:\(String(repeating: "a", count: 64)).example",
            "activitycontinuation:\(String(repeating: "a.", count: 130))example",
        ]
    )
    func `what is no host cannot be claimed (H-82)`(text: String) {
        #expect(throws: AssociatedDomain.Flaw.self) { try AssociatedDomain(text) }
    }

    @Test func `an international name is claimed in its ASCII form`() throws {
        #expect(try AssociatedDomain("activitycontinuation:xn--bcher-kva.example").claims("xn--bcher-kva.example"))
    }
}
