// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import UserNotificationsUI
import ValueSets

@testable import UserNotifications

/// The programs of custom views, in this process.
final class StagedCards: CardPrograms {
    private let opened = Mutex<[OpenedCard]>([])
    private let error = Mutex<NotificationError?>(nil)
    private let mayEnd: AsyncStream<Void>
    private let ending: AsyncStream<Void>.Continuation

    /// - Parameter endsAtOnce: `false`: the windows end after ``endWindows()``.
    init(endsAtOnce: Bool = true) {
        (self.mayEnd, self.ending) = AsyncStream.makeStream()
        if endsAtOnce { self.ending.finish() }
    }

    func endWindows() { self.ending.finish() }
    func fail(_ error: NotificationError) { self.error.withLock { $0 = error } }
    var count: Int { self.opened.withLock { $0.count } }
    var window: StagedExtensionProgram? { self.opened.withLock { $0.last?.window as? StagedExtensionProgram } }
    var program: StagedExtensionProgram? { self.opened.withLock { $0.last?.extension as? StagedExtensionProgram } }

    func problem(_ application: String, _ category: String) -> String? {
        application == "calendar" && category == "c" ? nil : "there is no extension."
    }

    func open(_ application: String, _ category: String) async throws(NotificationError) -> OpenedCard {
        if let error = self.error.withLock({ $0 }) { throw error }
        let card = OpenedCard(
            extension: StagedExtensionProgram(),
            window: StagedExtensionProgram(mayEnd: self.mayEnd),
            hidesDefaultContent: true,
            initialRatio: 1
        )
        self.opened.withLock { $0.append(card) }
        return card
    }

    func stop() async {
        for card in self.opened.withLock({ $0 }) {
            _ = await card.extension.end()
            _ = await card.window.end()
        }
    }

    /// The commands that the window has received.
    var commands: [CardWindowCommand] {
        (self.window?.requests ?? []).compactMap { line in
            (try? ValueSet(json: line)).flatMap { try? CardWindowCommand($0) }
        }
    }
    /// What the extension has received.
    var requests: [ContentExtensionRequest] {
        (self.program?.requests ?? []).compactMap { try? ContentExtensionRequest($0) }
    }
    func user(_ event: CardWindowEvent) throws { self.window?.respond(try event.valueSet.json()) }
    func reply(_ reply: ContentExtensionReply) throws { self.program?.respond(try reply.line) }
}
