// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// The order in which service extensions run: those for one sender one after the other, and a few at a time.
struct ServiceExtensionLanes {
    /// The maximum number of extensions that run at a time.
    static let count = 4

    private var calls = [SerialCalls](repeating: SerialCalls(), count: Self.count)
    private var waiting = [Int](repeating: 0, count: Self.count)
    /// The lanes of the senders that have extensions running or waiting.
    private var holders: [String: (lane: Int, count: Int)] = [:]

    var isEmpty: Bool { self.holders.isEmpty }

    /// Begins a call for a sender, which runs when its turn comes. ``ended(_:)`` follows when it has ended.
    mutating func begin<Result: Sendable>(
        _ holder: String,
        _ clock: FeatureClock,
        _ call: @escaping @Sendable () async -> Result
    ) -> Task<Result, Never> {
        let lane = self.holders[holder]?.lane ?? self.waiting.indices.min { self.waiting[$0] < self.waiting[$1] } ?? 0
        self.holders[holder, default: (lane, 0)].count += 1
        self.waiting[lane] += 1
        return self.calls[lane].begin(clock, call)
    }

    mutating func ended(_ holder: String) {
        guard let (lane, count) = self.holders[holder] else { return }
        self.holders[holder] = count > 1 ? (lane, count - 1) : nil
        self.waiting[lane] -= 1
    }
}
