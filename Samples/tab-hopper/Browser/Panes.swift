// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import UserActivities

/// The left pane of the browser: four tabs, one of them in front.
package actor TabStrip: ActivityResponder {
    package static let names = ["weather", "favourite", "coffee", "work"]
    /// Each tab has an activity type of its own.
    package static let activityTypes = names.map { "org.example.tab-hopper.\($0)" }

    package private(set) var front = 0

    package func bringToFront(_ tab: Int) { self.front = tab }

    package func updateUserActivityState(_ activity: UserActivity) async {
        activity.addUserInfoEntries(["Tab": .integer(Int64(self.front))])
    }

    package func restoreUserActivityState(_ activity: UserActivity) async {
        // The content comes from another machine, perhaps from another version of the browser.
        guard let tab = activity.userInfo["Tab"]?.int, Self.names.indices.contains(tab) else { return }
        self.front = tab
    }
}

/// The right pane: the page of the tab in front, and how far it was read.
package actor PagePane: ActivityResponder {
    package private(set) var address: URL?
    package private(set) var line = 0

    package func load(_ address: URL) {
        self.address = address
        self.line = 0
    }

    package func scroll(by lines: Int) { self.line = min(max(self.line + lines, 0), 10_000) }

    package func updateUserActivityState(_ activity: UserActivity) async {
        activity.addUserInfoEntries(["Line": .integer(Int64(self.line))])
    }

    package func restoreUserActivityState(_ activity: UserActivity) async {
        guard let address = activity.webpageURL else { return }
        self.load(address)
        self.scroll(by: activity.userInfo["Line"]?.int ?? 0)
    }
}
