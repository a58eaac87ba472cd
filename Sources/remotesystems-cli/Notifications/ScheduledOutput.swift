// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import UserNotifications

/// The output of `notifications schedule --json` and `notifications pending --json`.
struct ScheduledOutput: Encodable {
    var event: String
    let time = Date.now
    var id: String
    /// `nil` for one that waits for a place.
    var date: Date?
    var application: String?
    var sender: String?
    var title: String?
    var subtitle: String?
    var body: String?
    var repeats: Bool?
    /// `nil` for one that waits for a date.
    var region: RegionOutput?
    var attachments: [AttachmentOutput]?
}

struct RegionOutput: Encodable {
    var latitude: Double
    var longitude: Double
    var radius: Double
    var notifiesOnEntry: Bool
    var notifiesOnExit: Bool

    init(_ region: NotificationRegion) {
        (self.latitude, self.longitude, self.radius) = (region.latitude, region.longitude, region.radius)
        (self.notifiesOnEntry, self.notifiesOnExit) = (region.notifiesOnEntry, region.notifiesOnExit)
    }
}
