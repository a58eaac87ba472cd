// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Testing

@testable import RemoteSystemsDesktop

/// Which schemes are opened for remote launchers.
@Suite struct URISchemePolicyTests {
    @Test(arguments: ["http", "HTTPS", "mailto", "tel", "sms", "geo"])
    func `schemes that any web page may open are allowed`(scheme: String) {
        #expect(URISchemePolicy.standard.rule(for: scheme) == .allow)
    }

    @Test(arguments: ["file", "FILE", "javascript", "data", "vbscript", "about", "player", "ssh", "smb", "ms-word"])
    func `local files, scripts and unnamed schemes are denied`(scheme: String) {
        #expect(URISchemePolicy.standard.rule(for: scheme) == .deny)
    }

    @Test func `the rule for other schemes does not allow dangerous ones, but a rule of their own does`() {
        let open = URISchemePolicy(rules: ["File": .ask], otherSchemes: .allow)
        #expect(open.rule(for: "player") == .allow)
        #expect(open.rule(for: "javascript") == .deny)
        #expect(open.rule(for: "file") == .ask)
    }

    @Test func `of two rules for one scheme the stricter one applies`() {
        #expect(URISchemePolicy(rules: ["x": .allow, "X": .deny]).rule(for: "x") == .deny)
        #expect(URISchemePolicy(rules: ["x": .allow, "X": .ask]).rule(for: "x") == .ask)
    }

    @Test func `schemes that need consent are offered only if a user can be asked`() {
        var policy = URISchemePolicy(rules: ["a": .allow, "b": .ask, "c": .deny])
        #expect(policy.offeredSchemes == ["a"])
        policy.ask = { _ in true }
        #expect(policy.offeredSchemes == ["a", "b"])
    }

    @Test(arguments: [
        ("mailto:a@example.com?attach=/etc/passwd", true), ("mailto:?ATTACHMENT=x", true),
        ("mailto:?subject=a&%61ttach=x", true), ("mailto:?subject=a;attach=x", true),
        ("mailto:a@example.com?subject=attach", false), ("mailto:attach@example.com", false),
        ("mailto:a@example.com?subject=x#&attach=/etc/passwd", true), ("mailto:?subject=x#attach=y", true),
        ("mailto:a@example.com&attach=/etc/passwd", true), ("mailto:?subject=x,attachment=/etc/passwd", true),
        ("mailto:a%27,attachment=%27/etc/passwd", true), ("mailto:a@example.com%3F%2561ttach=x", true),
        ("https://example.com/?attach=x", false),
    ])
    func `a mailto URI with an attachment is recognised (RFC 6068)`(text: String, wants: Bool) throws {
        #expect(MailtoURI.wantsAttachment(try LaunchURI(text)) == wants)
    }
}
