// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits the state that the subscribers sharing this budget hold, in all and from each system.
///
/// A part of the total can be reserved for systems with little state, so that many systems with much of it do not
/// exclude the others.
package final class StateBudget: Sendable {
    /// The budget of all subscribers of a process that have no other.
    package static let shared = StateBudget(smallShare: 16 << 10)

    private let used: Mutex<KeyedLimiter<String>>
    private let smallShare: Int

    /// Creates a budget of which nothing is used.
    ///
    /// - Parameters:
    ///   - total: the maximum in all. In bytes. Defaults to 32 MiB.
    ///   - perPeer: the maximum from one system. In bytes. Defaults to 2 MiB.
    ///   - smallShare: a system with at most this much may use all of the total, the others only half of it. In bytes.
    ///     Defaults to no limit.
    package init(total: Int = 32 << 20, perPeer: Int = 2 << 20, smallShare: Int = .max) {
        self.used = Mutex(KeyedLimiter(total: total, perKey: perPeer))
        self.smallShare = smallShare
    }

    /// The number of bytes in use.
    package var bytes: Int { self.used.withLock { $0.count } }

    /// Counts a change of the state that a subscriber holds.
    ///
    /// - Returns: whether the total is within the budget. The change is counted in any case.
    func add(_ bytes: Int, of peer: String) -> Bool {
        self.used.withLock { used in
            used.add(bytes, for: peer)
            guard bytes > 0 else { return true }
            let isSmall = used.count(of: peer) <= self.smallShare
            return used.capacity(for: peer, adding: 0) == .free && (isSmall || used.count <= used.total / 2)
        }
    }
}
