// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How much a notification may interrupt its user.
public enum NotificationInterruptionLevel: String, Sendable, Hashable, CaseIterable {
    /// Adds the notification to the list, without a banner and without a sound.
    case passive
    /// Shows the notification at once. The default.
    case active
    /// Shows the notification at once, also while the user does not want to be disturbed, if the desktop permits it.
    case timeSensitive = "time-sensitive"
    /// Shows the notification at once and until the user closes it.
    case critical
}
