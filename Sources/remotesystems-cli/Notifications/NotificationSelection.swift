// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import UserNotifications

/// Options that select notifications of a list.
struct NotificationSelection: ParsableArguments {
    @Option(help: ArgumentHelp("Only notifications of this thread ('thread-id' of a payload).", valueName: "id"))
    var thread: String?

    @Option(
        help: ArgumentHelp(
            "Only notifications with this criterion ('filter-criteria' of a payload).",
            valueName: "text"
        )
    )
    var filter: String?

    /// Whether it selects all notifications.
    var isEmpty: Bool { self.thread == nil && self.filter == nil }

    func includes(_ notification: ListedNotification) -> Bool {
        let content = notification.notification.request.content
        if let thread, content.threadIdentifier != thread { return false }
        if let filter, content.filterCriteria != filter { return false }
        return true
    }
}
