// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsDesktop
import UserNotifications

/// Shows notifications with the desktop portal as its standard input says (`show ID TITLE`, `ask ID TITLE` with an
/// action that takes a text, `close ID`), and prints what becomes of them.
enum ProbePortal {
    static func run() async {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "com.example.portal",
            network: .loopback,
            discovery: []
        )
        let presenter = PortalPresenter(configuration)
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        Task.detached {
            while let line = readLine() { feed.yield(line) }
            feed.finish()
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await presenter.run() }
            group.addTask {
                for await event in presenter.events { Record.say("\(event)") }
            }
            for await line in lines {
                let words = line.split(separator: " ", maxSplits: 2).map(String.init)
                if words.count == 3 { await Self.show(words[1], words[2], takesText: words[0] == "ask", presenter) }
                if words.first == "close", words.count == 2 { await presenter.close(words[1]) }
            }
            group.cancelAll()
        }
    }

    private static func show(
        _ identifier: String,
        _ title: String,
        takesText: Bool,
        _ presenter: PortalPresenter
    ) async {
        var actions = [NotificationAction(identifier: "yes", title: "Deploy")]
        if takesText {
            actions.append(NotificationAction(TextInputNotificationAction(identifier: "why", title: "Why not")))
        }
        let notification = PresentedNotification(
            identifier: identifier,
            content: NotificationContent(title: title, body: "<b>1284</b>"),
            category: NotificationCategory(identifier: "c", actions: actions),
            applicationName: "Build server"
        )
        do {
            try await presenter.show(notification)
            Record.say("accepted \(identifier)")
        } catch {
            Record.say("refused \(identifier) \((error as? NotificationError)?.message ?? "\(error)")")
        }
    }
}
