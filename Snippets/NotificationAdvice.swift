// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsDesktop
import UserNotifications
import UserNotificationsUI
import ValueSets

/// Stands for the connection of an application to its own server.
struct EventServer: Sendable {
    static func connected() async throws -> EventServer { EventServer() }
    func send(_ comment: String, about event: String) async throws {}
}

/// A view in which the user comments on an event.
actor CommentView: NotificationContentExtension {
    private var server: EventServer?
    private var event = ""

    init() {}

    // What takes time is here and not in the initializer.
    // snippet.prepare
    func prepare() async throws { self.server = try await EventServer.connected() }
    // snippet.end

    // A notification may come without its file. `first` serves both cases, and an index does not.
    // snippet.attachment
    func didReceive(
        _ notification: DeliveredNotification,
        _ context: NotificationCardContext
    ) async throws -> NotificationCard {
        self.event = notification.request.identifier
        let content = notification.request.content
        var elements: [NotificationCardElement] = [.text(content.title, style: .heading)]
        if let photo = content.attachments.first {
            elements.append(.image(attachment: photo.identifier, description: "The place"))
        }
        return NotificationCard(elements: elements)
    }
    // snippet.end

    // The view is closed after the text was sent. If that fails, the error forwards the text to the application.
    // snippet.comment
    func didReceive(
        _ response: NotificationCardResponse,
        _ context: NotificationCardContext
    ) async throws -> ContentExtensionResponseOption {
        guard response.actionIdentifier == "comment", let text = response.userText else {
            return .dismissAndForwardAction
        }
        try await self.server?.send(text, about: self.event)
        return .dismiss
    }
    // snippet.end
}

// A small copy is made before the file is attached: it is sent and scaled in less time.
// snippet.scaled
func attach(_ photo: URL, to content: NotificationContent) async throws -> NotificationContent {
    var content = content
    let copy = FileManager.default.temporaryDirectory.appending(path: "photo.png")
    try await ScaledImage.write(photo, to: copy)
    content.attachments = [try await NotificationAttachment(identifier: "photo", contentsOf: copy)]
    return content
}
// snippet.end

/// Stands for a file or a database of the application, which has the comments that its server has not received.
struct CommentStore: Sendable {
    struct Comment: Sendable {
        /// The id of the response. One that comes again replaces itself.
        var id: String
        var event: String
        var text: String
    }

    var all: [Comment] { get async { [] } }
    func keep(_ comment: Comment) async {}
    func remove(_ comment: Comment) async {}

    /// Sends what is kept. What fails stays for the next time.
    func sendAll(to server: EventServer) async {
        for comment in await self.all {
            guard (try? await server.send(comment.text, about: comment.event)) != nil else { return }
            await self.remove(comment)
        }
    }
}

// A response counts as handled when the handler returns, and after 30 s. If the process ends before, it comes again
// with the same id. A server may be away for longer, so the text is kept before it is sent.
// snippet.handler
func openCenter(
    _ configuration: RemoteSystemsConfiguration,
    _ server: EventServer,
    _ comments: CommentStore
) async throws -> UserNotificationCenter {
    // What could not be sent the last time. Also call this when the server is there again.
    await comments.sendAll(to: server)
    return try await UserNotificationCenter(
        connectingToDaemonOf: configuration,
        applicationName: "Calendar",
        responseHandler: { response in
            guard let text = response.userText else { return }
            await comments.keep(.init(id: response.id, event: response.requestIdentifier, text: text))
            await comments.sendAll(to: server)
        }
    )
}
// snippet.end

/// Stands for the texts of an application in the languages that it knows, such as a catalogue of gettext.
struct TextTable: Sendable {
    static func ofUser() -> TextTable { TextTable() }
    func text(_ key: String, _ arguments: [String]) -> String? { nil }
}

// The sender does not know the language of the user there. It sends a text in its own, and the key beside it.
// snippet.translated
struct Translation: NotificationServiceExtension {
    func didReceive(_ request: NotificationRequest) async throws -> NotificationContent {
        var content = request.content
        let arguments = content.userInfo["arguments"]?.array?.compactMap(\.string) ?? []
        if let key = content.userInfo["key"]?.string, let text = TextTable.ofUser().text(key, arguments) {
            content.body = text
        }
        return content
    }
}
// snippet.end
