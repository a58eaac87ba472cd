// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDesktop

/// Which notifications a server is made to show.
@Suite struct NotificationTableTests {
    private static func notification(_ key: String, _ summary: String = "A") -> DesktopNotification {
        DesktopNotification(key: key, summary: summary, actions: [.init(key: "go", label: "Go")])
    }

    /// Takes all steps as a server does that numbers its notifications.
    private static func steps(_ table: inout NotificationTable, from first: UInt32 = 1) -> [NotificationTable.Step] {
        var steps: [NotificationTable.Step] = []
        while let step = table.nextStep, steps.count < 10 {
            switch step {
            case .notify(let notification, let replaced):
                _ = table.notified(notification, as: replaced > 0 ? replaced : first + UInt32(steps.count))
            case .close(let id): table.closed(id)
            }
            steps.append(step)
        }
        return steps
    }

    @Test func `what is wanted is shown, replaced and closed, and nothing twice`() {
        var table = NotificationTable()
        table.want([Self.notification("a"), Self.notification("b"), Self.notification("a", "second")])
        #expect(
            Self.steps(&table) == [
                .notify(Self.notification("a"), replaces: 0), .notify(Self.notification("b"), replaces: 0),
            ]
        )
        table.want([Self.notification("b", "B")])
        #expect(Self.steps(&table) == [.notify(Self.notification("b", "B"), replaces: 2), .close(1)])
        table.want([])
        #expect(Self.steps(&table) == [.close(2)])
        #expect(table.nextStep == nil)
    }

    @Test func `a server may show something until it was asked to close everything and has responded`() {
        var table = NotificationTable()
        #expect(table.isEmpty)
        table.want([Self.notification("a")])
        table.send(Self.notification("a"))
        table.want([])
        // Its response may still arrive.
        #expect(!table.isEmpty && table.nextStep == nil)
        _ = table.notified(Self.notification("a"), as: 1)
        #expect(!table.isEmpty)
        #expect(Self.steps(&table) == [.close(1)])
        #expect(table.isEmpty)
        table.adopt("b", id: 7)
        #expect(!table.isEmpty)
        table.serverEnded()
        #expect(table.isEmpty)
    }

    @Test func `what the user has closed returns only with another content`() {
        var table = NotificationTable()
        table.want([Self.notification("a")])
        _ = Self.steps(&table)
        #expect(table.reportedClosed(1) == Self.notification("a"))
        table.want([Self.notification("a")])
        #expect(table.nextStep == nil)
        table.want([Self.notification("a", "new")])
        #expect(Self.steps(&table) == [.notify(Self.notification("a", "new"), replaces: 0)])
    }

    @Test func `a notification that was withdrawn meanwhile was not closed by the user`() {
        var table = NotificationTable()
        table.want([Self.notification("a")])
        _ = Self.steps(&table)
        table.want([])
        #expect(table.reportedClosed(1) == nil)
        #expect(table.reportedClosed(7) == nil)
        #expect(table.nextStep == nil)
    }

    @Test func `only an action that the notification has counts`() {
        var table = NotificationTable()
        table.want([Self.notification("a")])
        _ = Self.steps(&table)
        #expect(table.activated(1, action: "other") == nil)
        #expect(table.activated(2, action: "go") == nil)
        #expect(table.activated(1, action: "go") == Self.notification("a"))
    }

    @Test func `an action with a text comes with its text, not as a button`() {
        var table = NotificationTable()
        var notification = Self.notification("a")
        notification.actions.append(.init(key: "why", label: "Comment", takesText: true))
        table.want([notification])
        _ = Self.steps(&table)
        let pressed = table.activated(1, action: "why")
        #expect(pressed == nil)
        #expect(table.nextStep == nil)
        let replied = table.replied(1)
        #expect(replied?.content == notification)
        #expect(replied?.action == "why")
        let isRepeated = table.replied(1) != nil
        #expect(!isRepeated)
        #expect(table.nextStep == .close(1))
    }

    @Test func `after an action, the notification is closed, and shown again if it is still wanted then`() {
        var table = NotificationTable()
        table.want([Self.notification("a")])
        _ = Self.steps(&table)
        #expect(table.activated(1, action: "go") == Self.notification("a"))
        // A second click meanwhile has no effect.
        #expect(table.activated(1, action: "go") == nil)
        #expect(Self.steps(&table) == [.close(1)])
        table.want([Self.notification("a")])
        #expect(Self.steps(&table, from: 5) == [.notify(Self.notification("a"), replaces: 0)])
        // The server's own report comes late, and does not mean the new one.
        #expect(table.reportedClosed(1) == nil)
        #expect(Self.steps(&table) == [])
        table.want([])
        #expect(Self.steps(&table) == [.close(5)])
    }

    @Test func `a new server shows everything again`() {
        var table = NotificationTable()
        table.want([Self.notification("a")])
        _ = Self.steps(&table)
        table.serverEnded()
        #expect(Self.steps(&table, from: 9) == [.notify(Self.notification("a"), replaces: 0)])
        #expect(table.activated(9, action: "go") == Self.notification("a"))
    }

    @Test func `a notification makes its sound once, also after the screen was locked and by a new server (N-05)`() {
        var table = NotificationTable()
        var loud = Self.notification("a")
        loud.isSilent = false
        let hidden = Self.notification("a", "Notification from Atlas")
        table.want([loud])
        #expect(!table.wasHeard(loud))
        let first = table.isHeard(loud)
        #expect(first && table.wasHeard(loud))
        // The screen is locked, and unlocked.
        table.want([hidden])
        let locked = table.isHeard(hidden)
        table.want([loud])
        let unlocked = table.isHeard(loud)
        table.serverEnded()
        let restarted = table.isHeard(loud)
        #expect([locked, unlocked, restarted] == [false, false, false] && table.wasHeard(loud))
        // Another content is new, and so is the same one that comes back, for example after a snooze.
        var changed = loud
        changed.summary = "new"
        table.want([changed])
        let another = table.isHeard(changed)
        table.want([])
        table.want([changed])
        let again = table.isHeard(changed)
        #expect(another && again)
    }

    @Test func `what a server refuses as a repetition is tried again once`() {
        var table = NotificationTable()
        let notification = Self.notification("a")
        table.want([notification])
        let first = [table.retriesRepetition(notification), table.retriesRepetition(notification)]
        #expect(first == [true, false])
        // Another content, and one that was shown meanwhile, have their own.
        let new = Self.notification("a", "new")
        table.want([new])
        let second = table.retriesRepetition(new)
        _ = table.notified(new, as: 1)
        let third = table.retriesRepetition(new)
        #expect(second && third)
    }

    @Test func `one that the server refuses delays no other, and is tried again after a change`() {
        var table = NotificationTable()
        table.want([Self.notification("a"), Self.notification("b")])
        table.refused(Self.notification("a"))
        #expect(Self.steps(&table) == [.notify(Self.notification("b"), replaces: 0)])
        table.want([Self.notification("a", "new"), Self.notification("b")])
        #expect(Self.steps(&table, from: 5) == [.notify(Self.notification("a", "new"), replaces: 0)])
        table.want([Self.notification("c")])
        table.refused(Self.notification("c"))
        _ = Self.steps(&table)
        #expect(table.nextStep == nil)
        table.retry(Self.notification("c", "another"))
        #expect(table.nextStep == nil)
        table.retry(Self.notification("c"))
        #expect(table.nextStep == .notify(Self.notification("c"), replaces: 0))
        table.refused(Self.notification("c"))
        table.retry()
        #expect(table.nextStep == .notify(Self.notification("c"), replaces: 0))
    }

    @Test func `when a replacement is refused, the earlier content is closed, and the new one is tried again later`() {
        var table = NotificationTable()
        table.want([Self.notification("a", "the full text")])
        _ = Self.steps(&table)
        let hidden = Self.notification("a", "hidden")
        table.want([hidden])
        #expect(table.nextStep == .notify(hidden, replaces: 1))
        table.refused(hidden)
        #expect(Self.steps(&table) == [.close(1)])
        table.retry()
        #expect(Self.steps(&table, from: 5) == [.notify(hidden, replaces: 0)])
        // The same for one that the server puts in the place of another.
        table.want([hidden, Self.notification("b")])
        _ = Self.steps(&table, from: 9)
        table.want([Self.notification("a", "full again"), Self.notification("b")])
        let isShown = table.notified(Self.notification("a", "full again"), as: 9)
        #expect(!isShown)
        #expect(Self.steps(&table) == [.close(5)])
    }

    @Test func `a server that shows a replacement beside the replaced one closes that one`() {
        var table = NotificationTable()
        table.want([Self.notification("a")])
        _ = Self.steps(&table)
        table.want([Self.notification("a", "new")])
        let isShown = table.notified(Self.notification("a", "new"), as: 2)
        #expect(isShown)
        #expect(Self.steps(&table) == [.close(1)])
    }

    @Test func `what was sent waits for its response, and is not sent again`() {
        var table = NotificationTable()
        table.want([Self.notification("a"), Self.notification("b")])
        table.send(Self.notification("a"))
        #expect(table.nextStep == .notify(Self.notification("b"), replaces: 0))
        table.send(Self.notification("b"))
        table.want([Self.notification("a", "new")])
        table.retry()
        #expect(table.nextStep == nil)
        // Late: the server shows both, of which the one is replaced and the other one closed.
        let areShown = [table.notified(Self.notification("a"), as: 1), table.notified(Self.notification("b"), as: 2)]
        #expect(areShown == [true, true])
        #expect(Self.steps(&table) == [.notify(Self.notification("a", "new"), replaces: 1), .close(2)])
        // A new server was not asked yet.
        table.want([Self.notification("c")])
        table.send(Self.notification("c"))
        table.serverEnded()
        #expect(table.nextStep == .notify(Self.notification("c"), replaces: 0))
    }

    @Test func `a click before the response concerns the earlier content`() {
        var table = NotificationTable()
        table.want([Self.notification("a")])
        _ = Self.steps(&table)
        table.want([Self.notification("a", "new")])
        table.send(Self.notification("a", "new"))
        #expect(table.activated(1, action: "go") == Self.notification("a"))
        let isShown = table.notified(Self.notification("a", "new"), as: 1)
        #expect(isShown)
        #expect(Self.steps(&table, from: 5) == [.close(1), .notify(Self.notification("a", "new"), replaces: 0)])
    }

    @Test func `a report that an older content was closed does not remove the newer one`() {
        var table = NotificationTable()
        table.want([Self.notification("a")])
        _ = Self.steps(&table)
        table.want([Self.notification("a", "new")])
        #expect(table.reportedClosed(1) == nil)
        #expect(Self.steps(&table) == [.notify(Self.notification("a", "new"), replaces: 0)])
    }

    @Test func `what an earlier process has shown is replaced, and closed if it is not wanted`() {
        var table = NotificationTable()
        table.adopt("a", id: 7)
        table.adopt("gone", id: 8)
        table.adopt("twice", id: 7)
        table.want([Self.notification("a"), Self.notification("b")])
        #expect(
            Self.steps(&table) == [
                .notify(Self.notification("a"), replaces: 7), .notify(Self.notification("b"), replaces: 0), .close(8),
            ]
        )
        table.adopt("c", id: 9)
        #expect(table.holds(7) && !table.holds(8) && table.holds(9))
        let (closed, activated) = (table.reportedClosed(9), table.activated(9, action: "go"))
        #expect(closed == nil && activated == nil && !table.holds(9))
    }

    @Test func `a server that gives no number, or one number to all, shows none of them again and again`() {
        var table = NotificationTable()
        table.want([Self.notification("a"), Self.notification("b"), Self.notification("c")])
        let accepted = [("a", 0), ("b", 1), ("c", 1)].map { table.notified(Self.notification($0.0), as: $0.1) }
        #expect(accepted == [false, true, false])
        #expect(table.nextStep == nil)
        let content = table.activated(1, action: "go")
        #expect(content == Self.notification("b"))
    }
}
