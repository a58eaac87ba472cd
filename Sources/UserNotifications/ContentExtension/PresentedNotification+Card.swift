// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension NotificationActionIdentifier {
    /// The beginning of the buttons that are not those of an application.
    static let builtInPrefix = "remote-systems."
    /// The button that opens the custom view of a notification. Not an action of its application.
    package static let openCard: NotificationActionIdentifier = "remote-systems.open-card"
}

extension PresentedNotification {
    /// Adds the button that opens the custom view, before those of the application.
    mutating func addCardAction() {
        let action = NotificationAction(identifier: .openCard, title: "Details")
        var category =
            self.category ?? NotificationCategory(identifier: self.content.categoryIdentifier ?? "", actions: [])
        category.actions.insert(action, at: 0)
        self.category = category
    }
}
