// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The user's permission for the notifications of an application or a system.
public enum NotificationPermission: String, Sendable, Hashable, CaseIterable {
    /// Its notifications are shown.
    case allowed
    /// Its notifications are shown without a sound, and cover nothing.
    case silent
    /// Its notifications are refused.
    case denied
}
