// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A system, proved by its certificate, and the application that it claims.
struct NotificationSender: Sendable, Hashable {
    var systemID: String
    var application: String
    /// The linked account of the system; `nil` for a system of the own account.
    var linkedAccountID: String?
    /// Whether it is a program of this system.
    var isLocal = false

    /// Senders that take no room from those of another kind.
    enum Kind: Hashable { case local, ownSystem, linkedAccount }

    var kind: Kind {
        if self.isLocal { return .local }
        return self.linkedAccountID == nil ? .ownSystem : .linkedAccount
    }

    /// What ``quotaHolder`` stands for, in errors.
    var holderText: String {
        switch self.kind {
        case .local: "the application"
        case .ownSystem: "the sending system"
        case .linkedAccount: "the linked account of the sending system"
        }
    }

    /// All senders of the kind, in errors.
    var allText: String {
        switch self.kind {
        case .local: "all applications of the receiving system"
        case .ownSystem: "all systems of the account"
        case .linkedAccount: "all linked accounts"
        }
    }

    /// What limits are counted for: the system. All systems of a linked account count as one, because that account
    /// can certify any number of them. On this system each application counts for itself.
    var quotaHolder: String {
        // No id of a system or an account has a space.
        self.isLocal ? "local \(self.application)" : self.linkedAccountID ?? self.systemID
    }
}
