// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsDesktop

@Suite struct BrowserMessageTests {
    @Test func `messages are found wherever the bytes are split`() throws {
        let bytes = try #require(NativeMessages.framed(Array("{}".utf8))) + #require(NativeMessages.framed([7]))
        for split in bytes.indices {
            var messages = NativeMessages()
            messages.append(bytes[..<split])
            var found: [[UInt8]] = []
            while let message = try messages.next() { found.append(message) }
            messages.append(bytes[split...])
            while let message = try messages.next() { found.append(message) }
            #expect(found == [Array("{}".utf8), [7]])
        }
    }

    @Test func `a message over 1 MiB is refused by its length alone, in both directions`() {
        let length = UInt32(NativeMessages.maxBytes + 1)
        var messages = NativeMessages()
        messages.append(unsafe withUnsafeBytes(of: length) { unsafe Array($0) })
        #expect(throws: NativeMessages.TooLong(bytes: NativeMessages.maxBytes + 1)) { try messages.next() }
        #expect(NativeMessages.framed([UInt8](repeating: 0, count: NativeMessages.maxBytes + 1)) == nil)
    }

    @Test func `an address loses its user name and password`() throws {
        let page = try BrowserPage("https://me:secret@example.com:8080/a?b=c#d", title: "  A\u{202E}page\n")
        #expect(page.address.absoluteString == "https://example.com:8080/a?b=c#d")
        #expect(page.title == "  A page ")
        #expect(try BrowserPage("http://example.com", title: " ").title == nil)
    }

    @Test(arguments: [
        "file:///etc/passwd", "javascript:alert(1)", "about:blank", "chrome://version", "https:", "https://", "x",
        "https://example.com/" + String(repeating: "a", count: 2048),
    ])
    func `a page without a web address is refused`(url: String) {
        #expect(throws: BrowserPage.Refusal.self) { try BrowserPage(url, title: nil) }
    }

    @Test func `a page that is not offered takes the place of the former one, and says why`() throws {
        let long = "https://example.com/" + String(repeating: "a", count: 2048)
        for text in [#"{"type": "page", "url": "\#(long)"}"#, #"{"type": "page", "url": "about:blank"}"#] {
            guard case .leave(let reason?) = try BrowserMessage(Array(text.utf8)) else {
                Issue.record("\(text)")
                continue
            }
            #expect(reason.contains("of up to 2048 bytes are offered"))
        }
        let hidden = #"{"type": "page", "url": "https://example.com/", "incognito": true}"#
        let left = try BrowserMessage(Array(hidden.utf8))
        #expect(left == .leave(reason: "Pages of private windows are not offered."))
    }

    @Test func `what another system does with the page is said with its name and the page's title`() throws {
        func text(_ order: BrowserOrder) throws -> String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return String(decoding: try encoder.encode(order), as: UTF8.self)
        }
        #expect(
            try text(.handedOver(system: "kitchen", title: "A page"))
                == #"{"system":"kitchen","title":"A page","type":"handed-over"}"#
        )
        #expect(try text(.returned(system: "kitchen", title: nil)) == #"{"system":"kitchen","type":"returned"}"#)
    }

    @Test func `messages are read, and wrong ones are refused`() throws {
        func read(_ text: String) throws -> BrowserMessage { try BrowserMessage(Array(text.utf8)) }
        #expect(try read(#"{"type": "leave", "more": 1}"#) == .leave(reason: nil))
        #expect(try read(#"{"type": "continue", "id": "x"}"#) == .continue(id: "x"))
        #expect(try read(#"{"type": "opened", "number": 3}"#) == .opened(number: 3, failure: nil))
        #expect(try read(#"{"type": "opened", "number": 3, "failure": "No."}"#) == .opened(number: 3, failure: "No."))
        let failure = #"{"type": "opened", "number": 3, "failure": "\u001b[2JNo."}"#
        #expect(try read(failure) == .opened(number: 3, failure: " [2JNo."))
        for text in [
            "", "[]", "7", #"{"type": 1}"#, #"{"type": "page"}"#, #"{"type": "dance"}"#, #"{"type": "continue"}"#,
        ] {
            #expect(throws: BrowserMessage.Invalid.self, "\(text)") { try read(text) }
        }
    }
}
