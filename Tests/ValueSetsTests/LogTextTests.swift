// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

/// Texts of peers in the lines of a log.
@Suite struct LogTextTests {
    @Test(arguments: [
        "link.made", "com.example.app", "k3x5-ab", "127.0.0.1", "fe80::1%eth0", "not-granted", "日本語", "a,b;c(d)",
        "-1",
    ])
    func `an ordinary value stays as it is`(value: String) {
        #expect(value.logValue == value)
    }

    @Test(arguments: [
        ("", #""""#), ("a b", #""a b""#), ("a\u{a0}b", "\"a\u{a0}b\""), ("[x]", #""[x]""#), (#"a"b"#, #""a\"b""#),
        (#"a\"#, #""a\\""#), ("a=b", #""a\u003db""#), ("a\nb", #""a\u000ab""#), ("a\r\nb", #""a\u000d\u000ab""#),
        ("a\u{85}b\u{2028}c\u{2029}d", #""a\u0085b\u2028c\u2029d""#), ("\u{1b}[2J", #""\u001b[2J""#),
        ("\u{202e}a", #""\u202ea""#), ("\u{e0001}", #""\udb40\udc01""#), ("\0", #""\u0000""#),
    ])
    func `a value that could be read as several is a JSON string`(value: String, expected: String) {
        #expect(value.logValue == expected)
    }

    @Test func `no value and no message contains a key, ends its quotes, or begins a line`() {
        let parts = [
            "event=link.made", " ", "\"", "\\", "=", "\n", "\r\n", "\u{2028}", "[RemoteSystems] ", "x", "\u{301}",
        ]
        for first in parts {
            for second in parts {
                for third in parts {
                    let text = first + second + third
                    let value = text.logValue
                    for shown in [value, text.logMessage] {
                        #expect(!shown.unicodeScalars.contains { $0 == "=" || $0.isControlCharacter }, "\(shown)")
                    }
                    guard value.unicodeScalars.first == "\"" else {
                        #expect(value == text && !value.unicodeScalars.contains(where: Self.endsValue), "\(value)")
                        continue
                    }
                    #expect(Self.quotes(in: value) == [0, value.unicodeScalars.count - 1], "\(value)")
                }
            }
        }
    }

    private static func endsValue(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\"" || scalar == "\\" || scalar == "[" || scalar == "]"
    }

    /// The places of the quotes that are not escaped, in scalars.
    private static func quotes(in value: String) -> [Int] {
        var places: [Int] = []
        var isEscaped = false
        for (place, scalar) in value.unicodeScalars.enumerated() {
            if scalar == "\"", !isEscaped { places.append(place) }
            isEscaped = scalar == "\\" && !isEscaped
        }
        return places
    }

    @Test func `a message keeps its quotes and brackets`() {
        #expect(#"The name "a [b]" is in use"#.logMessage == #"The name "a [b]" is in use"#)
        #expect("x\n[y] event=link.made".logMessage == #"x\u000a[y] event\u003dlink.made"#)
    }
}
