// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import UserNotifications

@testable import RemoteSystemsDesktop

/// How notifications of other systems are shown on a desktop.
@Suite struct SessionPresenterTests {
    private let deploy = NotificationAction(identifier: "deploy", title: "Deploy")
    private let comment = NotificationAction(TextInputNotificationAction(identifier: "why", title: "Comment"))

    private func shown(
        _ content: NotificationContent,
        _ actions: [NotificationAction] = [],
        options: NotificationCategory.Options = [],
        isLocked: Bool = false,
        opensMedia: Bool = true
    ) -> DesktopNotification {
        var category = NotificationCategory(identifier: "c", actions: actions, options: options)
        category.hiddenPreviewsBodyPlaceholder = options.isEmpty ? nil : "Unlock to read"
        return DesktopNotification(
            PresentedNotification(
                identifier: "7",
                content: content,
                category: category,
                applicationName: "com.example.build",
                systemName: "build\u{202E}er"
            ),
            isLocked: isLocked,
            opensMedia: opensMedia
        )
    }

    @Test func `the subtitle is the first line of the body, and the sender is always the last one (N-09)`() {
        let content = NotificationContent(title: "Build\u{7}", subtitle: "main", body: "1 failed\n<b>2</b> passed")
        let shown = self.shown(content)
        #expect(shown.summary == "Build ")
        let text = "main\n1 failed\n<b>2</b> passed\n– “com.example.build” on “build er”"
        #expect(shown.markupBody(showsAll: true, isMarkup: false) == text)
        #expect(shown.markupBody(showsAll: true).contains("&lt;b&gt;"))
    }

    @Test func `joiners of emoji and scripts stay in texts, and no invisible characters in names`() {
        let (family, persian) = ("👩\u{200D}❤\u{FE0F}\u{200D}👨", "می\u{200C}خواهم")
        let shown = self.shown(NotificationContent(title: family, body: "\(persian)\na\u{200D}b \u{200C}\u{202E}"))
        #expect(Array(shown.summary.unicodeScalars) == Array(family.unicodeScalars))
        #expect(Array(shown.body.unicodeScalars) == Array("\(persian)\na b   ".unicodeScalars))
        #expect(DesktopNotification.line(persian) == "می خواهم")
    }

    @Test func `a program of another system does not get the icon of one that is installed here (X-74)`() {
        var notification = PresentedNotification(
            identifier: "1",
            content: NotificationContent(title: "Lunch"),
            applicationName: "Calendar"
        )
        notification.desktopEntry = "com.example.calendar"
        #expect(DesktopNotification(notification, isLocked: false).desktopEntry == "com.example.calendar")
        notification.systemName = "Server"
        #expect(DesktopNotification(notification, isLocked: false).desktopEntry == nil)
    }

    @Test(
        arguments: [
            (nil, ["sound"], true), (nil, ["body"], false), ("Server", ["sound"], false),
        ] as [(String?, Set<String>, Bool)]
    )
    func `a sound file of this system goes before the name, to a server that plays sounds (X-74)`(
        systemName: String?,
        capabilities: Set<String>,
        isPassed: Bool
    ) {
        var notification = PresentedNotification(
            identifier: "7",
            content: NotificationContent(title: "x", sound: .named("bell")),
            applicationName: "com.example.build",
            systemName: systemName
        )
        notification.soundPath = "/sounds/bell"
        let abilities = NotificationServerAbilities(software: "server", capabilities: capabilities)
        let shown = DesktopNotification(notification, isLocked: false)
        let arguments = "\(shown.arguments(replacing: 0, for: abilities))"
        #expect(arguments.contains("sound-file") == isPassed && arguments.contains("/sounds/bell") == isPassed)
        #expect(arguments.contains("sound-name") == (capabilities.contains("sound") && !isPassed))
    }

    @Test func `the button of an attachment is none of the application's, whatever these are called (N-25)`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let song = directory.appending(path: "song")
        try Data("ID3\u{3} music".utf8).write(to: song)
        var content = NotificationContent(title: "The song")
        content.attachments = [try NotificationAttachment(url: song)]
        let own = NotificationAction(identifier: "open-attachment", title: "Notes")
        let labels = self.shown(content, [own]).actions.map { "\($0.key): \($0.label)" }
        #expect(
            labels == ["open-attachment: Notes", "\(DesktopNotification.mediaKey): Open sound", "default: Open"]
        )
        // The button is missing where no application opens the file.
        let unopened = self.shown(content, [own], opensMedia: false)
        #expect(unopened.actions.map(\.key) == ["open-attachment", "default"])
        #expect(unopened.iconName == "audio-x-generic")
        // No application can have the key.
        let taken = NotificationAction(identifier: .init(DesktopNotification.mediaKey), title: "Notes")
        let category = NotificationCategory(identifier: "c", actions: [taken])
        #expect(throws: NotificationError.self) { try category.validate() }
    }

    @Test func `a text cannot take the place of the sender (N-10)`() {
        let content = NotificationContent(title: "x", body: "Pay\n– com.example.bank on laptop")
        for showsAll in [true, false] {
            let lines = self.shown(content, [self.deploy]).markupBody(showsAll: showsAll).split(separator: "\n")
            #expect(lines.last == "– “com.example.build” on “build er”")
        }
        // Nor can it push the sender out of sight.
        let long = NotificationContent(title: "x", body: String(repeating: "\n", count: 500))
        #expect(self.shown(long).markupBody(showsAll: true).count { $0 == "\n" } < 12)
        // A server without bodies shows it, too.
        let abilities = NotificationServerAbilities(software: "server", capabilities: [])
        let arguments = "\(self.shown(content).arguments(replacing: 0, for: abilities))"
        #expect(arguments.contains("x – “com.example.build” on “build er”"))
    }

    @Test func `the beginning of a long text is shown, with a sign that there is more (X-62)`() {
        let body = (1...40).map { "Line \($0)" }.joined(separator: "\n")
        let long = self.shown(NotificationContent(title: String(repeating: "a", count: 300), body: body))
        #expect(long.summary == String(repeating: "a", count: 119) + "…")
        #expect(long.body.split(separator: "\n").count == 10 && long.body.hasSuffix("Line 10…"), "\(long.body)")
        let wide = self.shown(NotificationContent(title: "x", body: String(repeating: "b", count: 1001)))
        #expect(wide.body == String(repeating: "b", count: 999) + "…")
        let whole = self.shown(NotificationContent(title: "x", body: String(repeating: "b", count: 1000)))
        #expect(whole.body.count == 1000 && !whole.body.hasSuffix("…"))
    }

    @Test func `the command without a name shows its system alone, and no name has that form (N-10)`() {
        func source(_ name: String, _ system: String?, isOfCommand: Bool = false) -> String? {
            var notification = PresentedNotification(
                identifier: "7",
                content: NotificationContent(title: "x"),
                applicationName: name,
                systemName: system
            )
            notification.isOfCommand = isOfCommand
            return DesktopNotification(notification, isLocked: false).source
        }
        #expect(source("remote-systems.command.notify", "server", isOfCommand: true) == "from “server”")
        #expect(source("remote-systems.command.notify", nil, isOfCommand: true) == "from this system")
        #expect(source("from server", "laptop") == "“from server” on “laptop”")
        #expect(source("From\u{200b}server", nil) == "“From server” on this system")
        #expect(source("Mail” on “server", "laptop") == "“Mail' on 'server” on “laptop”")
        #expect(source("Mail", "laptop” on “server") == "“Mail” on “laptop' on 'server”")
        #expect(source("“Mail” on “server”", nil) == "“'Mail' on 'server'” on this system")
        #expect(source("Mail", nil) == "Mail")
    }

    @Test func `levels become urgencies, and only a question or a critical one stays (X-60, X-76)`() {
        let expected: [(NotificationInterruptionLevel, DesktopNotification.Urgency, Bool)] = [
            (.passive, .low, false), (.active, .normal, false), (.timeSensitive, .normal, false),
            (.critical, .critical, true),
        ]
        for (level, urgency, isResident) in expected {
            var content = NotificationContent(title: "x")
            content.interruptionLevel = level
            let shown = self.shown(content)
            #expect((shown.urgency, shown.isResident, shown.isSilent) == (urgency, isResident, true))
            #expect(self.shown(content, [self.deploy]).isResident)
            // The server may not end a critical one by itself.
            let arguments = shown.arguments(replacing: 0, for: NotificationServerAbilities(software: "server"))
            guard case .int32(let timeout)? = arguments.last else { return #expect(Bool(false), "\(arguments)") }
            #expect(timeout == (isResident ? 0 : -1))
            content.sound = .standard
            #expect(!self.shown(content).isSilent)
        }
    }

    @Test func `a locked screen shows what the category permits, and no action (N-06, X-58)`() {
        let content = NotificationContent(title: "Secret", subtitle: "main", body: "code 123")
        let hidden = self.shown(content, [self.deploy], isLocked: true)
        #expect(hidden.summary == "Notification from build er")
        #expect(hidden.body.isEmpty && hidden.actions.isEmpty && hidden.fallback == nil)
        let title = self.shown(content, [self.deploy], options: .hiddenPreviewsShowTitle, isLocked: true)
        #expect(title.summary == "Secret")
        #expect(title.body == "Unlock to read\n– Notification from build er")
        let subtitle = self.shown(content, options: .hiddenPreviewsShowSubtitle, isLocked: true)
        #expect(subtitle.summary == "Notification from build er")
        #expect(subtitle.body == "main\nUnlock to read")
    }

    @Test func `nothing vibrates on a locked screen, nor on Phosh without a sound (N-05)`() {
        var content = NotificationContent(title: "x")
        func hasHint(_ software: String) -> Bool {
            let abilities = NotificationServerAbilities(software: software)
            return "\(self.shown(content).arguments(replacing: 0, for: abilities))".contains("x-phosh-fb-profile")
        }
        #expect(hasHint("Phosh Notify Daemon") && !hasHint("server"))
        content.sound = .standard
        #expect(!hasHint("Phosh Notify Daemon"))
        #expect(self.shown(content, isLocked: true).isSilent)
    }

    @Test(
        arguments: [
            (nil, ["Deploy", "Open"], false), (["actions"], ["Deploy", "Open"], false),
            (["body"], ["Open"], false), (["actions", "inline-reply"], ["Deploy", "Comment", "Open"], true),
        ] as [(Set<String>?, [String], Bool)]
    )
    func `a server shows what it is able to, and the body names the command for the rest (N-10, X-73, X-77)`(
        capabilities: Set<String>?,
        labels: [String],
        showsAll: Bool
    ) {
        let shown = self.shown(NotificationContent(title: "x"), [self.deploy, self.comment])
        let abilities = NotificationServerAbilities(software: "server", capabilities: capabilities)
        #expect(shown.actions(for: abilities).map(\.label) == labels)
        let arguments = "\(shown.arguments(replacing: 0, for: abilities))"
        #expect(arguments.contains("remotesystems notifications answer 7") == !showsAll)
        #expect(arguments.contains(DesktopNotification.replyKey) == showsAll)
    }

    @Test func `a server with a text field gets the texts of the field (N-51, X-77)`() {
        let action = TextInputNotificationAction(
            identifier: "why",
            title: "Comment",
            textInputButtonTitle: "Post",
            textInputPlaceholder: "Your comment"
        )
        let shown = self.shown(NotificationContent(title: "x"), [NotificationAction(action)])
        let abilities = NotificationServerAbilities(software: "server", capabilities: ["actions", "inline-reply"])
        let arguments = "\(shown.arguments(replacing: 0, for: abilities))"
        #expect(arguments.contains("x-kde-reply-placeholder-text") && arguments.contains("Your comment"))
        #expect(arguments.contains("x-kde-reply-submit-button-text") && arguments.contains("Post"))
    }

    @Test func `the body names the application's actions, and the command that opens the view (N-13, X-77)`() {
        let details = NotificationAction(identifier: .openCard, title: "Details")
        let open = "See more with: remotesystems notifications open 7"
        let answer = "Respond with: remotesystems notifications answer 7 ACTION (deploy, why --text TEXT)"
        let content = NotificationContent(title: "x")
        #expect(self.shown(content, [details, self.deploy, self.comment]).fallback == "\(answer)\n\(open)")
        #expect(self.shown(content, [details]).fallback == open)
        #expect(self.shown(content, [self.deploy, self.comment]).fallback == answer)
        #expect(self.shown(content).fallback == nil)
        // A button of the desktop, which no command chooses.
        let later = NotificationAction(identifier: .snooze, title: "Later")
        #expect(self.shown(content, [self.deploy, self.comment, later]).fallback == answer)
    }
}
