// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import UserNotifications

@testable import RemoteSystemsDesktop

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
        "Bestätigungscode 4829", "OTP 482913 for your transfer", "验证码 482913", "驗證碼 482913", "Váš kód je 482913",
        "Ihre mTAN lautet 482913", "smsTAN 482913", "pushTAN: 482913", "TAN-Nummer: 482913", "OTP482913",
        "Your OTP-482913", "Steam Guard code: F4K2P", "Your verification code is A7K9QX",
        "Confirmation code: XJ7-KP2", "Su codigo es 482913", "Uw wachtwoord is gewijzigd", "Code 482.913",
        "Code 482–913", "Votre code : 482\u{202F}913", "Your code is 482913 2026-11-27", "G-482913 が確認コードです",
        "Use 482913 to confirm", "Enter 482913 to finish signing in",
        "Steam Guard code\nKPTXQ", "Ihr Code lautet QWXZRT", "Your code: KPT-XQW", "Mã xác minh của bạn là 482913",
        "Mã của bạn là 482913", "رمز التحقق الخاص بك هو 482913", "رمز التحقق هو ٤٨٢٩١٣", "קוד האימות שלך הוא 482913",
        "आपका ओटीपी 482913 है", "ワンタイムキーは482913です",
        "Open https://example.com/magic?token=abcdefghijklmnopqrst to log in",
        "Sign in: example.com/magic?token=abcdefghijklmnopqrst",
    ])
    func `codes and passwords are secrets, in the title and in the body`(text: String) {
        #expect(Self.refusal(text) == .secret)
        #expect(Self.refusal("Message", "<b>\(text)</b>") == .secret)
    }

    @Test(arguments: [
        "Lunch at 12:30?", "Build 4829 has passed", "The code review is done", "Invoice 2026-11 over 1200 euros",
        "A pinned message", "Tango tonight", "Room 482913 is free", "The login page of v2 is done",
        "The agenda is at https://example.com/agenda", "QUARTERLY REPORT", "Log in and/or out",
        "A CD or DVD for TAN JIN",
    ])
    func `other texts are none`(text: String) { #expect(Self.refusal(text) == nil) }

    @Test func `a word of codes in the title makes a secret of a code or an address in the body`() {
        #expect(Self.refusal("Steam Guard code", "KPTXQ") == .secret)
        #expect(Self.refusal("Anmeldung", "Ihr Code lautet QWXZRT") == .secret)
        #expect(Self.refusal("Sign in", "https://example.com/magic?token=abcdefghijklmnopqrst") == .secret)
        #expect(Self.refusal("Steam Guard code", "It was used") == nil)
    }

    @Test func `only chosen applications are mirrored, and all does not choose those that keep secrets`() {
        #expect(Self.refusal("Hi", for: []) == .application)
        #expect(Self.refusal("Hi", for: ["mail"]) == nil)
        #expect(Self.refusal("Hi", of: "", entry: "org.example.Mail", for: ["Org.Example.Mail.desktop"]) == nil)
        #expect(Self.refusal("Hi", of: "Mail 2", for: ["mail"]) == .application)
        #expect(Self.refusal("Copied", entry: "org.keepassxc.KeePassXC") == .application)
        #expect(Self.refusal("Copied", entry: "io.ente.auth") == .application)
        #expect(Self.refusal("Copied", of: "KeePassXC", for: ["keepassxc"]) == nil)
        #expect(Self.refusal("Code 482913", of: "KeePassXC", for: ["keepassxc"]) == .secret)
    }

    @Test func `what this SDK shows, states and empty notifications stay`() {
        #expect(Self.refusal("") == .empty)
        var call = DesktopCall(program: "Mail", summary: "Hi")
        call.isOwn = true
        let rules = MirrorRules(applications: ["*", "mail"])
        #expect(rules.refusal(of: call) == .own)
        call.isOwn = false
        call.isPassing = true
        #expect(rules.refusal(of: call) == .state)
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
