// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing
import ValueSets

@testable import UserNotifications

/// The lists of `Docs/wire-vectors.json` about notifications.
@Suite struct NotificationWireVectorTests {
    @Test(arguments: try WireVectors.list("notifications"))
    func `a notification is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let set = try ValueSet(encoded: try vector.bytes)
        guard vector.isValid else {
            #expect(throws: NotificationError.self) { try RemoteNotification(set) }
            return
        }
        let (read, json) = (try RemoteNotification(set), try vector.required("json", \.object))
        #expect(read.request.identifier == json["id"]?.string)
        #expect(read.request.content.title == json["title"]?.string)
        #expect(read.request.content.body == json["body"]?.string)
        #expect(read.request.content.interruptionLevel.rawValue == json["level"]?.string)
        let actions = (read.category?.actions ?? []).map(\.identifier.rawValue)
        #expect(actions == json["actions"]?.array?.compactMap(\.string))
        let attachments = read.request.content.attachments.map(\.identifier)
        #expect(attachments == json["attachments"]?.array?.compactMap(\.string) ?? [])
        #expect(try RemoteNotification(read.valueSet) == read)
    }

    @Test(arguments: try WireVectors.list("notification-states"))
    func `a state is merged with what is known, or ignored, as its vector states (X-40)`(
        vector: WireVectors.Vector
    ) throws {
        let now = Date(timeIntervalSince1970: Double(try vector.required("at", \.unsigned)))
        let record = try ValueSet(encoded: try vector.bytes)
        let received = NotificationState(record).flatMap { $0.counts(at: now) ? $0 : nil }
        guard vector.isValid else { return #expect(received == nil) }
        var state = try #require(received)
        if let known = vector["known"]?.bytes {
            state = try #require(NotificationState(try ValueSet(encoded: known))).merged(with: state)
        }
        let json = try vector.required("json", \.object)
        #expect(state.status.rawValue == json["status"]?.string && state.isRead == json["read"]?.bool)
        let until = json["until"]?.unsigned.map { Date(timeIntervalSince1970: Double($0)) }
        #expect(state.snoozedUntil == until)
        #expect(NotificationState(state.valueSet) == state)
    }

    @Test(arguments: try WireVectors.list("notification-state-keys"))
    func `the record of a state has the key that its vector states (X-40)`(vector: WireVectors.Vector) throws {
        let state = try #require(NotificationState(try ValueSet(encoded: try vector.bytes)))
        let delivery = NotificationState.Key(
            systemID: try vector.required("system", \.string),
            deliveryID: try #require(UUID(uuidString: try vector.required("delivery", \.string)))
        )
        let key = try vector.required("json") { $0["key"]?.string }
        #expect(delivery.record(state).text == key)
        #expect(NotificationState.RecordKey(key, state.status) == delivery.record(state))
    }

    @Test(arguments: try WireVectors.list("notification-triggers"))
    func `a trigger fires at the dates that its vector states, or is refused (X-53)`(vector: WireVectors.Vector) throws
    {
        let set = try ValueSet(encoded: try vector.bytes)
        guard vector.isValid else {
            #expect(throws: NotificationError.self) { try NotificationTrigger(set) }
            return
        }
        let trigger = try NotificationTrigger(set)
        let dates = try vector.required("json") { $0["dates"]?.array?.compactMap(\.unsigned) }
        var date = Date(timeIntervalSince1970: Double(try vector.required("after", \.unsigned)))
        for expected in dates {
            date = try #require(trigger.nextTriggerDate(after: date))
            #expect(UInt64(date.timeIntervalSince1970) == expected)
        }
        if dates.isEmpty { #expect(trigger.nextTriggerDate(after: date) == nil) }
    }
}
