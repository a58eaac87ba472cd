// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A presenter that also shows numbers at the icons of applications.
package protocol BadgePresenter: NotificationPresenter {
    /// Shows a number at an application's icon, where the desktop has such icons.
    ///
    /// - Parameters:
    ///   - count: the number; 0 for none.
    ///   - desktopEntry: the id of the application's desktop entry, without `.desktop`.
    func setBadge(_ count: Int, of desktopEntry: String)
}
