// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import UserNotifications
import ValueSets

@testable import RemoteSystemsDesktop

/// Calls of programs on the session bus that cost more than they are worth.
@Suite struct NotificationPartsTests {
    private static func error(actions: Int, _ options: ValueSet) -> BusCallError? {
        let actions = (0..<actions).map { ("a\($0)", "A") }
        let parts = NotificationParts(id: "i", title: "T", body: "", actions: actions, options: options)
        do throws(BusCallError) {
            _ = try parts.request()
            return nil
        } catch {
            return error
        }
    }

    /// An option that names no action shows which is looked at first.
    @Test(arguments: ["foreground": Value.array(["none"]), "text_action": "none"])
    func `the number of actions is checked before the options that name some`(option: String, value: Value) {
        #expect(Self.error(actions: 10, [option: value])?.code == "invalidArgument")
        #expect(Self.error(actions: 11, [option: value])?.code == "limitExceeded")
    }

    @Test func `an option names no more actions than there are`() {
        let ids = { (count: Int) in Value.array([Value](repeating: "a0", count: count)) }
        #expect(Self.error(actions: 2, ["foreground": ids(2)]) == nil)
        #expect(Self.error(actions: 2, ["foreground": ids(3)])?.code == "invalidArgument")
    }

    @Test(arguments: [0, -1, 315_360_001, .infinity, .nan] as [Double])
    func `a delay has a range, as the trigger has`(seconds: Double) throws {
        #expect(Self.error(actions: 0, ["delay": .double(seconds)])?.code == "invalidArgument")
        #expect(Self.error(actions: 0, ["delay": 60])?.code == "invalidArgument")
        #expect(Self.error(actions: 0, ["badge": .integer(-1)])?.code == "limitExceeded")
        let options: ValueSet = ["delay": .double(60), "badge": .integer(3)]
        let (request, _) = try NotificationParts(id: "i", title: "T", body: "", actions: [], options: options).request()
        #expect(request.trigger == .timeInterval(.seconds(60)) && request.content.badge == 3)
    }

    @Test(arguments: [NotificationBusInterface.interface, ActivityBusInterface.interface])
    func `a call that is longer than all that a program may state is refused by its length`(
        interface: BusInterface
    ) throws {
        try interface.checkSize(interface.maxCallBytes)
        let error = #expect(throws: BusCallError.self) { try interface.checkSize(interface.maxCallBytes + 1) }
        #expect(error?.code == "payloadTooLarge")
    }

    @Test func `the arguments of a program that is not registered are not read`() {
        #expect(["Add", "Remove", "List"].allSatisfy(NotificationBusCall.needsRegistration))
        #expect(!["Register", "Ask", "Acknowledge"].contains(where: NotificationBusCall.needsRegistration))
        #expect(["Offer", "Update", "Withdraw"].allSatisfy(ActivityBusCall.needsRegistration))
    }
}
