// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import UserNotifications

@testable import RemoteSystemsDesktop

/// Which notifications of a desktop the user's other systems show, too.
@Suite struct MirrorTableTests {
    private static let rules = MirrorRules(applications: ["*"])
    private var table = MirrorTable(Self.rules)

    private static func call(_ summary: String, of program: String = "Mail") -> DesktopCall {
        DesktopCall(program: program, summary: summary)
    }

    /// A program shows a notification, and the server gives it a number.
    private mutating func show(_ call: DesktopCall, at id: UInt32) -> [MirrorTable.Action] {
        let none = self.table.received(.called(call, by: ":1.5", serial: 7))
        return none + self.table.received(.returned(id, to: ":1.5", serial: 7))
    }

    private static func delivery(_ actions: [MirrorTable.Action]) -> UUID? {
        guard case .send(_, let delivery)? = actions.first, actions.count == 1 else { return nil }
        return delivery
    }

    @Test mutating func `a change keeps the delivery, and the same content is sent once`() throws {
        let sent = self.show(Self.call("One"), at: 3)
        let delivery = try #require(Self.delivery(sent))
        let again = self.show(Self.call("One"), at: 3)
        #expect(again.isEmpty)
        let changed = self.show(Self.call("Two"), at: 3)
        #expect(changed == [.send(Self.call("Two"), delivery: delivery)])
        let other = self.show(Self.call("Two"), at: 4)
        #expect(try #require(Self.delivery(other)) != delivery)
    }

    @Test mutating func `only the server's response to the call itself shows it`() {
        let first = self.table.received(.called(Self.call("One"), by: ":1.5", serial: 7))
        let stranger = self.table.received(.returned(3, to: ":1.6", serial: 7))
        let otherCall = self.table.received(.returned(3, to: ":1.5", serial: 8))
        let refused = self.table.received(.returned(nil, to: ":1.5", serial: 7))
        let late = self.table.received(.returned(3, to: ":1.5", serial: 7))
        #expect((first + stranger + otherCall + refused + late).isEmpty)
    }

    @Test(arguments: [MirrorTable.Reason.expired, .dismissed, .closed, .undefined])
    mutating func `what ends here ends elsewhere, unless only its time on the screen is over`(
        reason: MirrorTable.Reason
    ) throws {
        let sent = self.show(Self.call("One"), at: 3)
        let delivery = try #require(Self.delivery(sent))
        let actions = self.table.received(.closed(3, reason))
        let isDismissed = reason == .dismissed
        #expect(actions == (reason == .expired ? [] : [.end(delivery: delivery, isDismissed: isDismissed)]))
        // A program may take back what the user has not seen.
        let withdrawn = self.table.received(.withdrawn(3))
        #expect(withdrawn == (reason == .expired ? [.end(delivery: delivery, isDismissed: false)] : []))
    }

    @Test mutating func `what ended elsewhere is closed once, and its close ends nothing a second time`() throws {
        let sent = self.show(Self.call("One"), at: 3)
        let delivery = try #require(Self.delivery(sent))
        let id = self.table.endedElsewhere(delivery)
        #expect(id == 3)
        let twice = self.table.endedElsewhere(delivery)
        #expect(twice == nil)
        let closed = self.table.received(.closed(3, .closed))
        #expect(closed.isEmpty)
    }

    @Test mutating func `a secret that replaces a text ends the text elsewhere, and an ended server all`() throws {
        let sent = self.show(Self.call("One"), at: 3)
        let delivery = try #require(Self.delivery(sent))
        let secret = self.show(Self.call("Code: 123456"), at: 3)
        #expect(secret == [.end(delivery: delivery, isDismissed: false), .refused(.secret)])
        _ = self.show(Self.call("One"), at: 3)
        _ = self.show(Self.call("Two"), at: 4)
        let ended = self.table.received(.serverEnded)
        #expect(ended.count == 2)
        let after = self.table.received(.closed(4, .dismissed))
        #expect(after.isEmpty)
    }

    @Test mutating func `programs that show without end cost a bounded table`() {
        for id in 0..<1000 { _ = self.show(Self.call("\(id)"), at: UInt32(id)) }
        for serial in 0..<1000 { _ = self.table.received(.called(Self.call("a"), by: ":1.5", serial: UInt32(serial))) }
        let ended = self.table.received(.serverEnded)
        #expect(ended.count == 64)
    }
}

/// What stays on its system.
@Suite struct MirrorRulesTests {
    private static func refusal(
        _ summary: String,
        _ body: String = "",
        of program: String = "Mail",
        entry: String? = nil,
        for applications: [String] = ["*"]
    ) -> MirrorRules.Refusal? {
        var call = DesktopCall(program: program, summary: summary, body: body)
        call.desktopEntry = entry
        return MirrorRules(applications: applications).refusal(of: call)
    }

    @Test(arguments: [
        "Your code is 482913", "482 913 is your Example verification code", "G-482-913 est votre code",
        "Ihr Einmalkennwort lautet x", "TAN: 48291", "Sign in with 4829", "Your new password: hunter2",
        "Bestätigungscode 4829", "OTP 482913 for your transfer", "验证码 482913",
    ])
    func `codes and passwords are secrets, in the title and in the body`(text: String) {
        #expect(Self.refusal(text) == .secret)
        #expect(Self.refusal("Message", "<b>\(text)</b>") == .secret)
    }

    @Test(arguments: [
        "Lunch at 12:30?", "Build 4829 has passed", "The code review is done", "Invoice 2026-11 over 1200 euros",
        "A pinned message", "Tango tonight",
    ])
    func `other texts are none`(text: String) { #expect(Self.refusal(text) == nil) }

    @Test func `only chosen applications are mirrored, and all does not choose those that keep secrets`() {
        #expect(Self.refusal("Hi", for: []) == .application)
        #expect(Self.refusal("Hi", for: ["mail"]) == nil)
        #expect(Self.refusal("Hi", of: "", entry: "org.example.Mail", for: ["Org.Example.Mail.desktop"]) == nil)
        #expect(Self.refusal("Hi", of: "Mail 2", for: ["mail"]) == .application)
        #expect(Self.refusal("Copied", entry: "org.keepassxc.KeePassXC") == .application)
        #expect(Self.refusal("Copied", of: "KeePassXC", for: ["keepassxc"]) == nil)
        #expect(Self.refusal("Code 482913", of: "KeePassXC", for: ["keepassxc"]) == .secret)
    }

    @Test func `what this SDK shows, states and empty notifications are not meant`() {
        #expect(Self.refusal("") == .notMeant)
        var call = DesktopCall(program: "Mail", summary: "Hi")
        call.isOwn = true
        let rules = MirrorRules(applications: ["*", "mail"])
        #expect(rules.refusal(of: call) == .notMeant)
        call.isOwn = false
        call.isPassing = true
        #expect(rules.refusal(of: call) == .notMeant)
    }

    @Test func `the content has the plain text within the limits, and no program is critical elsewhere`() throws {
        var call = DesktopCall(program: "Mail\u{202E}\n\(String(repeating: "é", count: 200))", summary: "Hi")
        call.body = "<b>a</b> &lt;b&gt; &amp;lt; <a href=\"x\">link</a> 1 < 2 \(String(repeating: "é", count: 5000))"
        call.summary = String(repeating: "🎉", count: 1000)
        call.urgency = .critical
        let content = MirrorRules(applications: ["*"]).content(of: call)
        #expect(content.body.hasPrefix("a <b> &lt; link 1 < 2 é") && content.body.hasSuffix("…"))
        #expect(content.interruptionLevel == .timeSensitive && content.sound == .standard)
        var notification = RemoteNotification(NotificationRequest(identifier: "a", content: content))
        notification.applicationName = call.applicationName
        #expect(throws: Never.self) { try notification.validate() }
        call.isSilent = true
        #expect(MirrorRules(applications: ["*"]).content(of: call).sound == nil)
    }
}
