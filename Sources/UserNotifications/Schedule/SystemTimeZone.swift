// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
// Without it, Foundation knows no time zones but GMT.
internal import FoundationInternationalization

/// The time zone of the system as it is now. `TimeZone.current` is the one that the process has read first.
enum SystemTimeZone {
    static var current: TimeZone {
        // The environment of a process does not change.
        guard ProcessInfo.processInfo.environment["TZ"] == nil else { return .current }
        return Self.zone(ofLink: "/etc/localtime") ?? .current
    }

    /// The zone of a link into the time zone database; `nil` if it is none.
    static func zone(ofLink path: String) -> TimeZone? {
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path),
            let folder = target.firstRange(of: "zoneinfo/")
        else { return nil }
        return TimeZone(identifier: String(target[folder.upperBound...]))
    }
}
