// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

extension NotificationMessage {
    /// Who may send each type of request. All such decisions about requests are made here, before the rest of a request
    /// is read; ``NotificationSender/may(_:)`` decides about the parts of those that are permitted.
    static let callers: [String: RequestCallers] = [
        Self.deliver: .all, Self.withdraw: .all, Self.resume: .all,
        // The account's other systems send files, and read what is scheduled here.
        Self.attach: .account, Self.pending: .account,
        Self.use: .accountDaemons,
        // Only programs of the user's own session read, answer and change what was sent to the user.
        Self.list: .sameSystem, Self.watch: .sameSystem, Self.open: .sameSystem, Self.respond: .sameSystem,
        Self.snooze: .sameSystem, Self.read: .sameSystem, Self.history: .sameSystem, Self.forget: .sameSystem,
        Self.schedule: .sameSystem, Self.cancel: .sameSystem, Self.badge: .sameSystem,
        Self.post: .sameSystem, Self.posted: .sameSystem, Self.unpost: .sameSystem,
        Self.permissions: .sameSystem, Self.permit: .sameSystem,
    ]
}
