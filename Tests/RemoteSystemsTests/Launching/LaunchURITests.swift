// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import RemoteSystems
import Testing

/// Which URIs may be passed to programs (RFC 3986), and which must be refused.
@Suite struct LaunchURITests {
    @Test(arguments: [
        "https://example.com/album/42?x=1&y=2#t", "HTTPS://EXAMPLE.COM/", "player:album/42", "tel:+4930123456",
        "mailto:a@example.com?subject=50%25", "x-y+z.1:", "http://[2001:db8::1]:8080/", "http://user@[::1]/", "urn:a:b",
        "x:;$(touch)&'*!", "x:%f0%9f%8e%b5", "x:%0A",
    ])
    func `an absolute URI is accepted unchanged`(text: String) throws {
        let uri = try LaunchURI(text)
        #expect(uri.description == text)
        #expect(uri.scheme == text.prefix { $0 != ":" }.lowercased())
    }

    @Test(arguments: [
        "", "--help", "-x:y", "/etc/passwd", "example.com", ":x", "1x:y", "a_b:c", "://x", " https://example.com",
        "https://example.com/ --help", "x:a\nb", "x:a\r", "x:a\tb", "x:\u{0}", "x:\u{1B}[2J", "x:\u{7F}", "x:\"y\"",
        "x:`id`", "x:<y>", "x:a|b", "x:a\\b", "x:{y}", "x:^", "x:ü", "x:\u{FF0F}", "x:\u{202E}y", "x:%", "x:%2",
        "x:%zz",
        "x:%u", "x:%00", "x:a%00b", "x:[y]", "http://a[::1]/", "http://[::1", "http://[::1]x/", "http://[]/",
        "http://x/[y]", "x:#a#b",
    ])
    func `text that is not a URI in the narrow form is refused and not repeated`(text: String) throws {
        let error = #expect(throws: RemoteSystemError.self) { try LaunchURI(text) }
        #expect(error?.code == .misuse)
        #expect(error?.side == .local)
        if text.count > 4 { #expect(error?.message.contains(text) == false) }
    }

    @Test(arguments: try WireVectors.list("launch-uris"))
    func `a URI is accepted, or refused, as its wire vector states`(vector: WireVectors.Vector) throws {
        let text = try vector.required("text", \.string)
        if vector.isValid {
            #expect(try LaunchURI(text).scheme == vector["json"]?["scheme"]?.string)
        } else {
            #expect(throws: RemoteSystemError.self) { try LaunchURI(text) }
        }
    }

    @Test func `more than 8 KiB is refused`() throws {
        let longest = "x:" + String(repeating: "y", count: LaunchURI.maxBytes - 2)
        #expect(try LaunchURI(longest).description.utf8.count == LaunchURI.maxBytes)
        #expect(throws: RemoteSystemError.self) { try LaunchURI(longest + "y") }
        let scheme = String(repeating: "s", count: LaunchURI.maxSchemeBytes + 1)
        #expect(throws: RemoteSystemError.self) { try LaunchURI(scheme + ":") }
    }
}
