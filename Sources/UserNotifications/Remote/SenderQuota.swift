// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Limits the rate at which systems send notifications, per system and in total.
struct SenderQuota {
    /// A number of permits that refills with time.
    private struct Bucket {
        let size: Double
        let perSecond: Double
        var permits: Double
        var updated: ContinuousClock.Instant

        init(size: Double, perSecond: Double, _ now: ContinuousClock.Instant) {
            self.size = size
            self.perSecond = perSecond
            self.permits = size
            self.updated = now
        }

        mutating func refill(_ now: ContinuousClock.Instant) {
            guard now > self.updated else { return }
            let time = now - self.updated
            self.permits = min(self.size, self.permits + (time / .seconds(1)) * self.perSecond)
            self.updated = now
        }
    }

    /// The notifications that one system may send at once. One more is permitted every two seconds.
    static let burst = 30
    /// The notifications that all systems together may send at once. Two more are permitted every second.
    static let totalBurst = 120
    /// The maximum number of systems whose rates are known.
    private static let maxSystems = 1024

    private var systems: [String: Bucket] = [:]
    private var total: Bucket

    init(_ now: ContinuousClock.Instant) {
        self.total = Bucket(size: Double(Self.totalBurst), perSecond: 2, now)
    }

    /// Takes one permit of a system.
    ///
    /// - Returns: Whether there was one. A refusal takes none.
    mutating func take(_ system: String, _ now: ContinuousClock.Instant) -> Bool {
        self.total.refill(now)
        if self.systems[system] == nil, self.systems.count >= Self.maxSystems {
            for (id, var bucket) in self.systems {
                bucket.refill(now)
                // A full bucket equals none.
                if bucket.permits >= bucket.size { self.systems[id] = nil }
            }
            guard self.systems.count < Self.maxSystems else { return false }
        }
        var bucket = self.systems[system] ?? Bucket(size: Double(Self.burst), perSecond: 0.5, now)
        bucket.refill(now)
        guard bucket.permits >= 1, self.total.permits >= 1 else {
            self.systems[system] = bucket
            return false
        }
        bucket.permits -= 1
        self.total.permits -= 1
        self.systems[system] = bucket
        return true
    }
}
