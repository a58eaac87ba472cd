// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import UserNotifications

/// What could not be stored is stored later.
@Suite struct UnsavedChangesTests {
    private var unsaved = UnsavedChanges()

    private static func put(_ key: String, _ body: UInt8) -> NotificationStoreChange {
        .put(NotificationRecord(.received, key: key, date: Date(timeIntervalSince1970: 0), body: [body]))
    }

    @Test mutating func `what failed goes along with the next changes`() {
        let first = self.unsaved.begin([Self.put("a", 1)])
        self.unsaved.failed(first, isKept: true)
        #expect(self.unsaved.hasFailed)
        let second = self.unsaved.begin([Self.put("b", 1)])
        #expect(Set(second.changes) == [Self.put("a", 1), Self.put("b", 1)])
        self.unsaved.succeeded(second)
        #expect(!self.unsaved.hasFailed)
        #expect(self.unsaved.begin([]).changes.isEmpty)
    }

    @Test mutating func `the last change of a record counts, also if an earlier one fails after it`() {
        let first = self.unsaved.begin([Self.put("a", 1)])
        let second = self.unsaved.begin([Self.put("a", 2)])
        #expect(second.changes == [Self.put("a", 2)])
        self.unsaved.succeeded(second)
        self.unsaved.failed(first, isKept: true)
        #expect(!self.unsaved.hasFailed)
    }

    @Test mutating func `what is on its way is not stored a second time`() {
        _ = self.unsaved.begin([Self.put("a", 1)])
        #expect(self.unsaved.begin([Self.put("b", 1)]).changes == [Self.put("b", 1)])
    }

    @Test mutating func `a change whose caller learnt of the failure is forgotten, and what failed before comes back`()
    {
        let first = self.unsaved.begin([.remove(.received, key: "a")])
        self.unsaved.failed(first, isKept: true)
        let second = self.unsaved.begin([Self.put("a", 2), Self.put("b", 2)])
        #expect(Set(second.changes) == [Self.put("a", 2), Self.put("b", 2)])
        self.unsaved.failed(second, isKept: false)
        #expect(self.unsaved.begin([]).changes == [.remove(.received, key: "a")])
    }

    @Test mutating func `what was on its way counts again if its successor is not to be stored`() {
        let first = self.unsaved.begin([.remove(.pending, key: "a")])
        let second = self.unsaved.begin([Self.put("b", 1), .put(Self.pending("a"))])
        self.unsaved.failed(first, isKept: true)
        self.unsaved.failed(second, isKept: false)
        #expect(self.unsaved.begin([]).changes == [.remove(.pending, key: "a")])
    }

    @Test mutating func `what was on its way and has arrived does not count again`() {
        let first = self.unsaved.begin([.remove(.pending, key: "a")])
        let second = self.unsaved.begin([.put(Self.pending("a"))])
        self.unsaved.succeeded(first)
        self.unsaved.failed(second, isKept: false)
        #expect(!self.unsaved.hasFailed && self.unsaved.count == 0)
    }

    @Test mutating func `a store that fails for ever costs a bounded amount of memory, and no notification that waits`()
    {
        self.unsaved.failed(self.unsaved.begin([Self.put("waits", 1)]), isKept: true)
        for number in 0..<(2 * UnsavedChanges.max) {
            let record = NotificationRecord(.history, key: "\(number)", date: .distantPast, body: [0])
            let batch = self.unsaved.begin([.remove(.received, key: "\(number)"), .put(record)])
            self.unsaved.failed(batch, isKept: true)
            guard number % 512 == 0 else { continue }
            #expect(self.unsaved.count <= UnsavedChanges.max)
        }
        #expect(self.unsaved.begin([]).changes.contains(Self.put("waits", 1)))
    }

    private static func pending(_ key: String) -> NotificationRecord {
        NotificationRecord(.pending, key: key, date: Date(timeIntervalSince1970: 0), body: [])
    }
}
