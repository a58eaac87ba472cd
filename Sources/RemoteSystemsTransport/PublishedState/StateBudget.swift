// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import Synchronization

/// Limits the state that the subscribers sharing this budget hold, in all and from each holder of a quota.
///
/// A part of the total can be reserved for holders with little state, so that many holders with much of it do not
/// exclude the others. Linked accounts together use at most a quarter of the total, so they never exclude a system of
/// the own account.
package final class StateBudget: Sendable {
    /// The budget of all subscribers of a process that have no other.
    package static let shared = StateBudget(smallShare: 16 << 10)

    private struct Use {
        var all: KeyedLimiter<QuotaHolder>
        /// The part of linked accounts.
        var linked = 0
    }

    private let used: Mutex<Use>
    private let smallShare: Int

    /// Creates a budget of which nothing is used.
    ///
    /// - Parameters:
    ///   - total: the maximum in all. In bytes. Defaults to 32 MiB.
    ///   - perHolder: the maximum from one holder. In bytes. Defaults to 2 MiB.
    ///   - smallShare: a holder with at most this much may use all of the total, the others only half of it. In bytes.
    ///     Defaults to no limit. Of the part of linked accounts the same applies.
    package init(total: Int = 32 << 20, perHolder: Int = 2 << 20, smallShare: Int = .max) {
        self.used = Mutex(Use(all: KeyedLimiter(total: total, perKey: perHolder)))
        self.smallShare = smallShare
    }

    /// The number of bytes in use.
    package var bytes: Int { self.used.withLock { $0.all.count } }

    /// Counts a change of the state that a subscriber holds.
    ///
    /// - Returns: whether the total is within the budget. The change is counted in any case.
    func add(_ bytes: Int, of holder: QuotaHolder) -> Bool {
        self.used.withLock { used in
            used.all.add(bytes, for: holder)
            if holder.isLinkedAccount { used.linked += bytes }
            guard bytes > 0 else { return true }
            guard used.all.capacity(for: holder, adding: 0) == .free else { return false }
            let (count, total) =
                holder.isLinkedAccount
                ? (used.linked, used.all.total / 4) : (used.all.count - used.linked, used.all.total)
            let isSmall = used.all.count(of: holder) <= self.smallShare
            return count <= (isSmall ? total : total / 2)
        }
    }
}
