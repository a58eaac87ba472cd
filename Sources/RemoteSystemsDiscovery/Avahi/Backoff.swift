// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The delay before the next attempt. It doubles from `first` up to `longest`.
struct Backoff: Sendable {
    let first: Duration
    let longest: Duration
    private var attempts = 0

    init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    mutating func next() -> Duration {
        defer { attempts += 1 }
        return min(longest, first * (1 << min(attempts, 20)))
    }

    mutating func reset() { attempts = 0 }
}
