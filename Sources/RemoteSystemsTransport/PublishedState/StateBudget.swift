// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits the state that the subscribers sharing this budget hold, in all and from each system.
package final class StateBudget: Sendable {
    /// The budget of all subscribers of a process that have no other.
    package static let shared = StateBudget()

    private let used: Mutex<KeyedLimiter<String>>

    /// Creates a budget of which nothing is used.
    ///
    /// - Parameters:
    ///   - total: the maximum in all. In bytes. Defaults to 64 MiB.
    ///   - perPeer: the maximum from one system. In bytes. Defaults to 4 MiB.
    package init(total: Int = 64 << 20, perPeer: Int = 4 << 20) {
        self.used = Mutex(KeyedLimiter(total: total, perKey: perPeer))
    }

    /// The number of bytes in use.
    package var bytes: Int { self.used.withLock { $0.count } }

    /// Counts a change of the state that a subscriber holds.
    ///
    /// - Returns: whether the total is within the budget. The change is counted in any case.
    func add(_ bytes: Int, of peer: String) -> Bool {
        self.used.withLock { used in
            used.add(bytes, for: peer)
            return bytes <= 0 || used.capacity(for: peer, adding: 0) == .free
        }
    }
}
