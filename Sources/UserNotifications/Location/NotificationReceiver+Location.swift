// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems

/// What measures the location while notifications wait for regions.
struct LocationWatch {
    /// The smallest radius of a region.
    var radius: Double
    var task: Task<Void, Never>
}

/// Notifications that wait for the user to enter or leave a region.
extension NotificationReceiver {
    /// The time for a first location. Until then, it is not known whether the location can be measured.
    private static let locationTime = Duration.seconds(20)
    /// The pauses after which a source that has failed is tried again: the first, and the longest.
    private static let (firstPause, longestPause) = (Duration.seconds(1), Duration.seconds(600))

    /// Checks that the location can be measured, before a notification waits for it.
    ///
    /// - Returns: where the system is.
    func measureLocation() async throws(NotificationError) -> NotificationLocation {
        guard let locationSource else { throw Self.unavailable("This system has no source of locations.") }
        let result = await self.clock.first(within: Self.locationTime) {
            () -> Result<NotificationLocation, NotificationError> in
            do {
                for try await location in locationSource.locations(distance: 0) { return .success(location) }
                return .failure(Self.unavailable("The source has ended."))
            } catch {
                return .failure(Self.unavailable("\(error)"))
            }
        }
        guard let result else { throw Self.unavailable("There was none within 20 s.") }
        return try result.get()
    }

    private static func unavailable(_ reason: String) -> NotificationError {
        NotificationError(
            .locationUnavailable,
            "The location cannot be measured. \(reason) Check that GeoClue is installed, and that its configuration or "
                + "the desktop's settings allow it for this program (Docs/notifications.md)."
        )
    }

    /// Begins and ends measuring the location as notifications need it.
    func watchLocation() {
        let radius = self.pending.smallestRadius
        guard radius != self.locationWatch?.radius else { return }
        self.locationWatch?.task.cancel()
        self.locationWatch = nil
        guard let radius, let locationSource else { return }
        let task = self.clock.task { [weak self, clock, logger] in
            var pause = Self.firstPause
            while !Task.isCancelled {
                do {
                    // A tenth of the smallest region, so that its boundary is noticed.
                    for try await location in locationSource.locations(distance: radius / 10) {
                        pause = Self.firstPause
                        await self?.located(location)
                    }
                } catch {
                    guard !Task.isCancelled else { return }
                    logger.warning(
                        "The location cannot be measured. Notifications that wait for a region are delivered later",
                        metadata: ["reason": "\(error)", "retry": "\(pause)"]
                    )
                }
                guard (try? await clock.sleep(until: clock.now + pause)) != nil else { return }
                pause = min(pause * 2, Self.longestPause)
            }
        }
        self.locationWatch = LocationWatch(radius: radius, task: task)
    }

    private func located(_ location: NotificationLocation) async {
        let changed = self.pending.located(location, at: self.clock.date)
        await self.commitOrLog { () throws(NotificationError) in
            try changed.map { entry throws(NotificationError) in .put(try NotificationRecord(entry)) }
        }
        // In a task of its own, because measuring ends with the last region.
        await self.clock.task { await self.deliverDue() }.value
    }
}
