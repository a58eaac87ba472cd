// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension NotificationActionIdentifier {
    /// The button that hides a notification until later. Not an action of its application.
    package static let snooze: NotificationActionIdentifier = "remote-systems.snooze"
}

extension PresentedNotification {
    /// Adds the button that hides it until later, after those of the application.
    ///
    /// A notification without buttons gets none: it would stay on the screen then until the user responds.
    mutating func addSnoozeAction() {
        guard self.category?.actions.isEmpty == false else { return }
        self.category?.actions.append(NotificationAction(identifier: .snooze, title: "Later"))
    }
}
