// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How a notification has ended, as programs of this system and the history name it.
enum NotificationEnd: String, CaseIterable {
    /// The user has chosen an action.
    case answered
    case dismissed
    /// The sender has withdrawn it.
    case withdrawn
    /// Its time is over.
    case expired

    /// `nil` for a notification that waits.
    init?(_ status: NotificationState.Status) {
        switch status {
        case .waiting: return nil
        case .withdrawn: self = .withdrawn
        case .dismissed: self = .dismissed
        case .activated: self = .answered
        }
    }

    /// What other systems learn; `nil` if each of them knows it by itself.
    var status: NotificationState.Status? {
        switch self {
        case .answered: .activated
        case .dismissed: .dismissed
        case .withdrawn: .withdrawn
        case .expired: nil
        }
    }
}
