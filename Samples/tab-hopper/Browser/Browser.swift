// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import UserActivities

/// A browser that the user can leave on one machine and continue on another, at the same place of the same page.
package actor Browser: ContinuationHandler, UserActivityDelegate {
    package nonisolated let tabs = TabStrip()
    package nonisolated let page = PagePane()
    /// Receives what the user sees, as a line of text.
    private let show: @Sendable (String) -> Void
    /// `nil` for the only host of the process.
    private var host: UserActivityHost?
    /// The page that the user looks at.
    private var activity: UserActivity?

    package init(show: @escaping @Sendable (String) -> Void) {
        self.show = show
    }

    /// Offers pages at this host from now on.
    package func use(_ host: UserActivityHost) { self.host = host }

    /// Opens a page in a tab, and offers it to the user's other machines.
    package func open(_ address: URL, in tab: Int) async throws {
        await self.tabs.bringToFront(tab)
        await self.page.load(address)
        let activity = UserActivity(type: TabStrip.activityTypes[tab], title: "\(TabStrip.names[tab]): \(address)")
        // A machine without this browser opens the address in another one.
        activity.webpageURL = address
        self.keep(activity)
        try await activity.becomeCurrent(at: self.host)
        await self.showPage("offered")
    }

    /// Lets both panes write their part of the activity.
    private func keep(_ activity: UserActivity) {
        activity.addResponder(self.tabs)
        activity.addResponder(self.page)
        activity.delegate = self
        // They write it when another machine continues the page, and not before.
        activity.needsSave = true
        self.activity = activity
    }

    package func scroll(by lines: Int) async {
        await self.page.scroll(by: lines)
        self.activity?.needsSave = true
        await self.showPage("scrolled")
    }

    package func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
    ) async throws -> Bool {
        await restore([self.tabs, self.page])
        // From now on, the page can be continued from here in turn.
        self.keep(activity)
        try await activity.adopt(at: self.host)
        await self.showPage("continued")
        return true
    }

    package func didFailToContinueUserActivity(type: String, error: ContinuationError) async {
        self.show("not continued: \(error.message)")
    }

    package func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
        self.show("left: another machine has continued \(activity.title ?? activity.type)")
    }

    private func showPage(_ event: String) async {
        let tab = TabStrip.names[await self.tabs.front]
        guard let address = await self.page.address else { return self.show("\(event): \(tab), an empty page") }
        self.show("\(event): \(tab), \(address), line \(await self.page.line)")
    }
}
