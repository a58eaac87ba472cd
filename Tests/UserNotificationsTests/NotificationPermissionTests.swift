// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

@testable import UserNotifications

@Suite struct NotificationPermissionTests {
    private static func sender(_ system: String, _ application: String, account: String? = nil) -> NotificationSender {
        NotificationSender(systemID: system, application: application, linkedAccountID: account)
    }

    @Test("The strictest permission of a system, its account and its application counts (X-56)")
    func strictest() throws {
        var permissions = NotificationPermissions()
        #expect(permissions.permission(of: Self.sender("s", "a")) == .allowed)
        try permissions.set(.silent, for: .init(system: "s"))
        try permissions.set(.denied, for: .init(application: "a"))
        try permissions.set(.denied, for: .init(system: "s", application: "b"))
        try permissions.set(.denied, for: .init(system: "account"))
        for (sender, permission) in [
            (Self.sender("s", "a"), NotificationPermission.denied), (Self.sender("s", "b"), .denied),
            (Self.sender("s", "c"), .silent), (Self.sender("t", "b"), .allowed), (Self.sender("t", "a"), .denied),
            (Self.sender("t", "c", account: "account"), .denied), (Self.sender("t", "c", account: "other"), .allowed),
        ] {
            #expect(permissions.permission(of: sender) == permission)
        }
        try permissions.set(.allowed, for: .init(application: "a"))
        #expect(permissions.permission(of: Self.sender("s", "a")) == .silent)
        #expect(permissions.all.count == 3)
    }

    @Test("The number of permissions is limited")
    func limit() throws {
        var permissions = NotificationPermissions()
        for number in 0..<NotificationPermissions.max {
            try permissions.set(.silent, for: .init(application: "\(number)"))
        }
        let error = #expect(throws: NotificationError.self) {
            try permissions.set(.denied, for: .init(application: "one more"))
        }
        #expect(error?.code == .limitExceeded)
        try permissions.set(.denied, for: .init(application: "0"))
        try permissions.set(.allowed, for: .init(application: "one more"))
    }

    @Test("A permission survives its record, and one of a later version permits nothing")
    func record() throws {
        let subject = NotificationPermissions.Subject(system: "s")
        var record = try NotificationRecord(.silent, for: subject, at: .distantPast)
        #expect(try record.permission() == (.silent, subject))
        record.body = try (["Permission": "summarized"] as ValueSet).encoded()
        #expect(try record.permission().0 == .denied)
    }
}
