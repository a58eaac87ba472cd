// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import Synchronization

/// The part of a ``MemoryBudget`` that one kind of messages reserves, such as requests.
///
/// A peer may never use more than half of what is free.
package final class ReservedMemory: Sendable {
    private let use: Mutex<KeyedLimiter<QuotaHolder>>

    /// - Parameters:
    ///   - bytes: the maximum in all.
    ///   - each: the maximum of one peer. Defaults to a quarter.
    init(bytes: Int, each: Int? = nil) {
        self.use = Mutex(KeyedLimiter(total: bytes, perKey: each ?? bytes / 4, sharesOfFree: 2))
    }

    /// The reserved bytes.
    package var bytes: Int { self.use.withLock { $0.count } }

    /// Reserves bytes, if there is space.
    func reserve(_ bytes: Int, for holder: QuotaHolder) -> Bool {
        self.use.withLock { $0.enter(holder, adding: bytes) }
    }

    /// Returns bytes.
    func release(_ bytes: Int, for holder: QuotaHolder) {
        guard bytes > 0 else { return }
        self.use.withLock { $0.add(-bytes, for: holder) }
    }
}
