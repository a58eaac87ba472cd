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
