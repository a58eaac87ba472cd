// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

/// Texts of peers in sentences that a user decides by.
@Suite struct QuotedTextTests {
    @Test(arguments: [
        ("Report", "“Report”"), ("Ada’s laptop", "“Ada’s laptop”"), ("", "“”"), ("日本語", "“日本語”"),
        ("laptop (7kzml27o)", "“laptop (7kzml27o)”"), ("Erdo\u{30b}s", "“Erdo\u{30b}s”"),
    ])
    func `an ordinary text is in quotation marks`(text: String, expected: String) {
        #expect(text.quoted == expected)
    }

    @Test(arguments: [
        ("a” on “b", "“a' on 'b”"), (#"a" on "b"#, "“a' on 'b”"), ("a″ on ‟b", "“a' on 'b”"), ("«a»", "“'a'”"),
        ("❝a❞", "“'a'”"), ("＂a＂", "“'a'”"), ("a\nb\r\n c\u{2028}d", "“a b c d”"),
        ("a" + String(repeating: "\u{a0} ", count: 80) + "b", "“a b”"), ("\u{1b}[2J\u{202e}a", "“[2J a”"),
    ])
    func `no text ends its quotation marks, or begins a line`(text: String, expected: String) {
        #expect(text.quoted == expected)
    }

    @Test func `a long text is cut`() {
        #expect(String(repeating: "a", count: 64).quoted == "“\(String(repeating: "a", count: 64))”")
        #expect(String(repeating: "a", count: 65).quoted == "“\(String(repeating: "a", count: 63))…”")
    }

    @Test func `an id is quoted if it could be read as more than an id`() {
        #expect("com.example.text-editor_2".quotedUnlessPlain == "com.example.text-editor_2")
        for text in ["a b", "a,b", "a)", "a”", "ａ", "a\u{301}", ""] {
            #expect(text.quotedUnlessPlain == text.quoted, "\(text)")
        }
    }

    @Test func `an apostrophe is no quotation mark`() {
        #expect(!"Ada’s 'laptop'".hasQuotationMarks && "“".hasQuotationMarks && "a\"".hasQuotationMarks)
    }
}
