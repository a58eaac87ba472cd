// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValueSets

/// A URL on the wire is a URI of RFC 3986, section 3, and nothing else.
@Suite struct URLTests {
    /// Reads a URL from the wire: tag 32 and the text.
    private static func read(_ text: String) throws -> Value {
        try Value(encoded: [0xD8, 0x20] + Value.string(text).encoded())
    }

    @Test(arguments: [
        "https://example.com/", "HTTP://EXAMPLE.COM", "a:", "a:b", "a:/", "a:/b//c", "a://", "a:///b",
        "file:///etc/hosts",
        "urn:uuid:00112233-4455-6677-8899-aabbccddeeff", "mailto:a@example.com", "tel:+49-30-123", "x+y-z.1:q",
        "http://user:password@example.com:8080/a/b;c=1?d=e/f?#g/h?", "http://example.com:/", "http://a%41/%2F?%3F#%23",
        "http://127.0.0.1:1", "http://[::1]/", "http://[::]", "http://[1:2:3:4:5:6:7:8]/", "http://[1:2:3:4:5:6:7::]/",
        "http://[::2:3:4:5:6:7:8]/", "http://[1::8]:80/", "http://[::ffff:192.0.2.1]/", "http://[64:ff9b::192.0.2.33]/",
        "http://[v1.a:b]/", "http://[vF.x-y!z]/", "http://999.1.2.3.4/", "http://a_b/", "a:!$&'()*+,;=:@-._~",
    ])
    func `every form of a URI is accepted, and is unchanged`(text: String) throws {
        let value = try Self.read(text)
        #expect(value.url?.absoluteString == text)
        #expect(try Value(encoded: value.encoded()) == value)
    }

    @Test(arguments: [
        "", ":", "://x", ":a", "/a/b", "a", "//example.com/", "?a", "#a", "1a:b", "+a:b", "a_b:c", "a%41:b", "ä:b",
        "http://[zz]/", "http://[]/", "http://[::1", "http://::1]/", "http://[::1]x/", "http://a[::1]/", "http://[1]/",
        "http://[1:2:3:4:5:6:7]/", "http://[1:2:3:4:5:6:7:8:9]/", "http://[1:2:3:4:5:6:7::8]/", "http://[1::2::3]/",
        "http://[12345::]/", "http://[:1]/", "http://[1:]/", "http://[:::]/", "http://[::1.2.3]/",
        "http://[::1.2.3.256]/",
        "http://[::1.2.3.04]/", "http://[1.2.3.4::]/", "http://[fe80::1%25eth0]/", "http://[v.a]/", "http://[v1.]/",
        "http://[vg.a]/", "http://a@b@c/", "http://a:b:c/", "http://a:8x/", "http://a/[b]", "http://a/?[b]",
        "http://a/#[b]",
        "a:#b#c", "a:%", "a:%4", "a:%4g", "a:b c", " a:b", "a:b\n", "a:\"", "a:<b>", "a:\\", "a:^", "a:`", "a:{b}",
        "a:|",
        "a:é", "a:\u{0}", "a:\u{7F}",
    ])
    func `text that is not a URI is refused when read and when written`(text: String) {
        #expect(throws: ValueSetError.self) { try Self.read(text) }
        #expect(throws: ValueSetError.self) { try ValueSet(json: Data(#"{"a":{"$url":"\#(text)"}}"#.utf8)) }
        guard let url = URL(string: text) else { return }
        #expect(throws: ValueSetError.self) {
            // Foundation may have changed it to another URL, which can be sent.
            guard url.absoluteString == text else { throw ValueSetError(.invalidText, "") }
            return try Value.url(url).encoded()
        }
    }

    @Test func `every URI that the grammar produces is accepted`() throws {
        var generator = URIGenerator()
        for _ in 0..<5_000 {
            let text = generator.uri()
            #expect(throws: Never.self, "\(text)") { try Self.read(text) }
        }
    }
}

/// Generates URIs by the grammar of RFC 3986, appendix A.
private struct URIGenerator {
    private var random = SystemRandomNumberGenerator()

    mutating func uri() -> String {
        let scheme = self.pick("abcXYZ") + self.some(0...5, "abcXYZ019+-.")
        var text = scheme + ":"
        switch Int.random(in: 0...3, using: &self.random) {
        case 0: text += "//" + self.authority() + self.segments(0...3)
        case 1: text += "/" + (self.isHeads ? self.segment(1...4) + self.segments(0...2) : "")
        case 2: text += self.segment(1...4) + self.segments(0...2)
        default: break
        }
        if self.isHeads { text += "?" + self.characters(0...5, more: "/?") }
        if self.isHeads { text += "#" + self.characters(0...5, more: "/?") }
        return text
    }

    private var isHeads: Bool { mutating get { Bool.random(using: &self.random) } }

    private mutating func authority() -> String {
        var text = ""
        if self.isHeads { text += self.characters(0...4, more: ":", without: "@") + "@" }
        switch Int.random(in: 0...3, using: &self.random) {
        case 0: text += "[" + self.groups(8).joined(separator: ":") + "]"
        case 1: text += "[" + self.groups(3).joined(separator: ":") + "::" + self.groups(2).joined(separator: ":") + "]"
        default: text += self.characters(0...6, without: ":@")
        }
        if self.isHeads { text += ":" + self.some(0...4, "123456789") }
        return text
    }

    private mutating func groups(_ count: Int) -> [String] { (0..<count).map { _ in self.some(1...4, "019afAF") } }

    private mutating func segments(_ count: ClosedRange<Int>) -> String {
        (0..<Int.random(in: count, using: &self.random)).map { _ in "/" + self.segment(0...4) }.joined()
    }

    private mutating func segment(_ count: ClosedRange<Int>) -> String { self.characters(count) }

    private mutating func characters(_ count: ClosedRange<Int>, more: String = "", without: String = "") -> String {
        let all = Array("azAZ09-._~!$&'()*+,;=:@%" + more).filter { !without.contains($0) }
        return (0..<Int.random(in: count, using: &self.random)).map { _ in
            let character = all[Int.random(in: 0..<all.count, using: &self.random)]
            return character == "%" ? "%" + self.some(2...2, "123456789abcdefABCDEF") : String(character)
        }.joined()
    }

    private mutating func some(_ count: ClosedRange<Int>, _ alphabet: String) -> String {
        (0..<Int.random(in: count, using: &self.random)).map { _ in self.pick(alphabet) }.joined()
    }

    private mutating func pick(_ alphabet: String) -> String {
        let all = Array(alphabet)
        return String(all[Int.random(in: 0..<all.count, using: &self.random)])
    }
}
