// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

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
        return none + self.table.received(.returned(id, by: ":1.2", to: ":1.5", serial: 7))
    }

    private static func sent(_ actions: [MirrorTable.Action]) -> (identifier: UUID, delivery: UUID)? {
        guard case .send(_, let identifier, let delivery)? = actions.first, actions.count == 1 else { return nil }
        return (identifier, delivery)
    }

    @Test mutating func `a change keeps the identifier, has a delivery of its own, and is sent once`() throws {
        let actions = self.show(Self.call("One"), at: 3)
        let first = try #require(Self.sent(actions))
        let again = self.show(Self.call("One"), at: 3)
        #expect(again.isEmpty)
        let changed = self.show(Self.call("Two"), at: 3)
        let second = try #require(Self.sent(changed))
        #expect(second.identifier == first.identifier && second.delivery != first.delivery)
        let other = self.show(Self.call("Two"), at: 4)
        #expect(try #require(Self.sent(other)).identifier != first.identifier)
        // The user has dismissed the older text only.
        let old = self.table.endedElsewhere(first.delivery)
        #expect(old == nil)
        let new = self.table.endedElsewhere(second.delivery)
        #expect(new?.id == 3 && new?.server == ":1.2")
    }

    @Test mutating func `only the server's response to the call itself shows it`() {
        let first = self.table.received(.called(Self.call("One"), by: ":1.5", serial: 7))
        let stranger = self.table.received(.returned(3, by: ":1.2", to: ":1.6", serial: 7))
        let otherCall = self.table.received(.returned(3, by: ":1.2", to: ":1.5", serial: 8))
        let refused = self.table.received(.returned(nil, by: ":1.2", to: ":1.5", serial: 7))
        let late = self.table.received(.returned(3, by: ":1.2", to: ":1.5", serial: 7))
        #expect((first + stranger + otherCall + refused + late).isEmpty)
    }

    @Test(arguments: [MirrorTable.Reason.expired, .dismissed, .closed, .undefined])
    mutating func `what ends here ends elsewhere, unless only its time on the screen is over`(
        reason: MirrorTable.Reason
    ) throws {
        let sent = self.show(Self.call("One"), at: 3)
        let identifier = try #require(Self.sent(sent)).identifier
        let actions = self.table.received(.closed(3, reason))
        let isDismissed = reason == .dismissed
        #expect(actions == (reason == .expired ? [] : [.end(identifier: identifier, isDismissed: isDismissed)]))
        // A program may take back what the user has not seen.
        let withdrawn = self.table.received(.withdrawn(3))
        #expect(withdrawn == (reason == .expired ? [.end(identifier: identifier, isDismissed: false)] : []))
    }

    @Test mutating func `what ended elsewhere is closed once, and its close ends nothing a second time`() throws {
        let sent = self.show(Self.call("One"), at: 3)
        let delivery = try #require(Self.sent(sent)).delivery
        let shown = self.table.endedElsewhere(delivery)
        #expect(shown?.id == 3)
        let twice = self.table.endedElsewhere(delivery)
        #expect(twice == nil)
        let closed = self.table.received(.closed(3, .closed))
        #expect(closed.isEmpty)
    }

    @Test mutating func `a secret that replaces a text ends the text elsewhere, and an ended server all`() throws {
        let sent = self.show(Self.call("One"), at: 3)
        let identifier = try #require(Self.sent(sent)).identifier
        let secret = self.show(Self.call("Code: 123456"), at: 3)
        #expect(secret == [.end(identifier: identifier, isDismissed: false), .refused(.secret)])
        _ = self.show(Self.call("One"), at: 3)
        _ = self.show(Self.call("Two"), at: 4)
        let ended = self.table.received(.serverEnded)
        #expect(ended.count == 2)
        let after = self.table.received(.closed(4, .dismissed))
        #expect(after.isEmpty)
    }

    @Test mutating func `a state is reported as refused, and what this SDK shows is not`() {
        var call = Self.call("Volume")
        call.isPassing = true
        let state = self.show(call, at: 3)
        #expect(state == [.refused(.state)])
        call.isOwn = true
        let own = self.show(call, at: 4)
        #expect(own.isEmpty)
    }

    @Test mutating func `programs that show without end cost a bounded table, and what leaves it ends`() {
        var ends = 0
        for id in 0..<1000 {
            let actions = self.show(Self.call("\(id)"), at: UInt32(id))
            ends += actions.count { if case .end = $0 { true } else { false } }
        }
        let rest = self.table.received(.serverEnded)
        #expect(rest.count == 64 && ends == 1000 - 64)
        // Of calls without a response, the last are known.
        for serial in 0..<1000 { _ = self.table.received(.called(Self.call("a"), by: ":1.5", serial: UInt32(serial))) }
        let old = self.table.received(.returned(1, by: ":1.2", to: ":1.5", serial: 900))
        #expect(old.isEmpty)
        let new = self.table.received(.returned(1, by: ":1.2", to: ":1.5", serial: 999))
        #expect(Self.sent(new) != nil)
    }
}
