// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDesktop

/// Texts of other systems in notifications.
@Suite struct NotificationMarkupTests {
    @Test(arguments: [
        (#"<img src="file:///etc/passwd"> on kitchen"#, #"&lt;img src="file:///etc/passwd"&gt; on kitchen"#),
        (#"<a href="https://example.com">update</a> & more"#, nil), ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        // A combining character after a sign makes both one character.
        ("<\u{338}script>", "&lt;\u{338}script&gt;"),
    ])
    func `a text with markup, links and images is shown as it is (X-76)`(text: String, expected: String?) {
        let body = DesktopNotification(key: "1", summary: "", body: text).markupBody(showsAll: true)
        #expect(!body.unicodeScalars.contains("<") && !body.unicodeScalars.contains(">"))
        if let expected { #expect(body == expected) }
    }

    @Test func `a server that does not state markup gets a text without tags, which one that reads it shows (X-76)`() {
        var notification = DesktopNotification(key: "1", summary: "", body: "a < b <!-- c")
        notification.source = "from atlas"
        func arguments(_ capabilities: Set<String>) -> String {
            let abilities = NotificationServerAbilities(software: "server", capabilities: capabilities)
            return "\(notification.arguments(replacing: 0, for: abilities))"
        }
        let plain = arguments(["body"])
        #expect(plain.contains("a ‹ b ‹!-- c") && plain.contains("from atlas"), "\(plain)")
        #expect(arguments(["body", "body-markup"]).contains("a &lt; b &lt;!-- c"))
        // With a combining character, a sign is another character.
        let signs = "<\u{338}img>".withoutTags.unicodeScalars
        #expect(!signs.contains("<") && !signs.contains(">") && signs.count == 6)
    }
}
