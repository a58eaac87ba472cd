// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystems
internal import ServiceLifecycle
internal import Synchronization
package import UserNotifications
internal import ValueSets

/// Shows notifications of other systems with the notification server of the session bus: texts and buttons.
package final class SessionPresenter: NotificationPresenter, Service {
    package let events: AsyncStream<NotificationPresenterEvent>
    private let feed: AsyncStream<NotificationPresenterEvent>.Continuation
    private let desktop: DesktopNotifications
    private let shown = Mutex<[DesktopNotification]>([])

    package init(_ configuration: RemoteSystemsConfiguration) {
        // The events of a user. More can only come from a program that pretends to be the server.
        (self.events, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
        self.desktop = DesktopNotifications(logger: configuration.logger)
    }

    package var capabilities: NotificationPresenterCapabilities { [.actions, .body, .dismissal] }

    /// Serves until cancelled, or until a graceful shutdown. The notifications are then closed.
    package func run() async throws {
        defer { self.feed.finish() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.desktop.run() }
            group.addTask { for await event in self.desktop.events { self.received(event) } }
            try await group.next()
            group.cancelAll()
        }
    }

    package func show(_ notification: PresentedNotification) async throws {
        let shown = Self.desktopNotification(notification)
        self.shown.withLock { list in
            if let index = list.firstIndex(where: { $0.key == shown.key }) {
                list[index] = shown
            } else {
                list.append(shown)
            }
            self.desktop.present(list)
        }
    }

    package func close(_ identifier: String) async { self.forget(identifier) }

    @discardableResult
    private func forget(_ key: String) -> DesktopNotification? {
        self.shown.withLock { list in
            guard let index = list.firstIndex(where: { $0.key == key }) else { return nil }
            let forgotten = list.remove(at: index)
            self.desktop.present(list)
            return forgotten
        }
    }

    private func received(_ event: DesktopNotificationEvent) {
        switch event {
        case .activated(let key, let action):
            self.feed.yield(.activated(identifier: key, action: NotificationActionIdentifier(action)))
        case .dismissed(let key):
            guard let notification = self.forget(key) else { return }
            // One that does not expire was closed by the user.
            self.feed.yield(.closed(identifier: key, reason: notification.isResident ? .dismissed : .undefined))
        case .locked: break
        }
    }

    /// What the server shows of a notification: the sender is always visible.
    static func desktopNotification(_ notification: PresentedNotification) -> DesktopNotification {
        let content = notification.content
        let source = [notification.applicationName, notification.systemName].compactMap(\.self).map(\.asLine)
            .joined(separator: " on ")
        let title = [content.title, content.subtitle, content.body].first { !$0.isEmpty } ?? ""
        let texts = content.title.isEmpty ? [] : [content.subtitle, content.body].filter { !$0.isEmpty }
        let buttons = (notification.category?.actions ?? []).filter { $0.textInput == nil }
        let stays = !(notification.category?.actions.isEmpty ?? true) || content.interruptionLevel == .critical
        return DesktopNotification(
            key: notification.identifier,
            summary: title.asLine,
            body: (texts.map(\.asText) + ["– \(source)"]).joined(separator: "\n"),
            actions: buttons.map { .init(key: $0.identifier.rawValue, label: $0.title.asLine) },
            isQuiet: content.interruptionLevel == .passive || notification.isSilenced,
            isResident: stays
        )
    }
}

extension String {
    /// The text of a peer as one line.
    fileprivate var asLine: String { self.withoutControlCharacters }

    /// The text of a peer with its line breaks, without other control characters.
    fileprivate var asText: String {
        self.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).withoutControlCharacters }
            .joined(separator: "\n")
    }
}
