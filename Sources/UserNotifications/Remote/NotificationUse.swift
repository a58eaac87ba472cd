// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a sender's notification may use of this system, beside being shown.
///
/// `Authorisation` decides before whether the sender may call the service at all, and records that. These are parts of
/// the message of a permitted sender, and are left out if it may not use them. That is not recorded.
enum NotificationUse: CaseIterable {
    /// Files that this system stores and shows.
    case attachments
    /// An application that is started to handle content without a text.
    case contentUpdate
    /// A program that changes the content before it is shown.
    case serviceExtension
    /// A program that shows a view of its own.
    case card
    /// The number at an application's icon.
    case badge
    /// Questions to the user's other systems which of them makes the sound: each opens a connection to all of them.
    case soundQuestions
    /// The published state of a notification that its sender withdraws, which every system of the account keeps.
    case withdrawnState
}

extension NotificationSender {
    /// Decides whether this sender's notifications may use something. All such decisions about senders are made here.
    func may(_ use: NotificationUse) -> Bool {
        switch self.kind {
        // An application changes its own content before it posts it.
        case .local: use != .serviceExtension
        case .ownSystem: true
        // A link permits its systems to show something to the user: not to start programs, to store files, or to change
        // what belongs to this account's applications.
        case .linkedAccount: false
        }
    }
}
