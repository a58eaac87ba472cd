// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What the user permits systems and applications to show on this system.
struct NotificationPermissions {
    /// What a permission concerns: a system, an application, or an application of a system.
    struct Subject: Sendable, Hashable {
        /// The id of a system, or of a linked account for all its systems; `nil` for all.
        var system: String?
        /// The id of an application, which is only claimed; `nil` for all.
        var application: String?
    }

    /// The maximum number of permissions.
    static let max = 1024

    private var permissions: [Subject: NotificationPermission] = [:]

    /// All permissions that differ from `allowed`.
    var all: [(subject: Subject, permission: NotificationPermission)] {
        self.permissions.map { ($0.key, $0.value) }
            .sorted { ($0.0.system ?? "", $0.0.application ?? "") < ($1.0.system ?? "", $1.0.application ?? "") }
    }

    /// The strictest permission that concerns a sender.
    func permission(of sender: NotificationSender) -> NotificationPermission {
        let systems = [sender.systemID, sender.linkedAccountID, nil]
        let found = systems.flatMap { system in
            [sender.application, nil].compactMap { self.permissions[Subject(system: system, application: $0)] }
        }
        if found.contains(.denied) { return .denied }
        return found.contains(.silent) ? .silent : .allowed
    }

    /// - Throws: ``NotificationError`` with `limitExceeded`.
    mutating func set(_ permission: NotificationPermission, for subject: Subject) throws(NotificationError) {
        guard permission != .allowed else {
            self.permissions[subject] = nil
            return
        }
        guard self.permissions[subject] != nil || self.permissions.count < Self.max else {
            throw NotificationError(
                .limitExceeded,
                "There are \(Self.max) permissions. Allow some of them again first."
            )
        }
        self.permissions[subject] = permission
    }
}
