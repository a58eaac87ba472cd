// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import Synchronization

/// The memory that the connections of a host may hold for unfinished frames, in all and of one peer.
///
/// A frame that does not arrive whole reserves its announced length before more of it is read, so that a frame with a
/// reservation can always be finished. The others wait: their connections are not read. Frames of at most
/// ``smallBytes`` are not counted. The budget is therefore not used for messages that are small or arrive in one read.
package final class ReceiveBudget: Sendable {
    /// The maximum length of a frame that is not counted, with its length field.
    static var smallBytes: Int { 16 << 10 }
    /// The limits by default, in bytes: of the reserved frames, of one peer's, and the same of the bytes that have
    /// arrived of waiting frames.
    package static var frameBytes: Int { 64 << 20 }
    package static var waitingBytes: Int { 32 << 20 }
    package static var waitingBytesEach: Int { 8 << 20 }

    private struct Use {
        var frames: KeyedLimiter<QuotaHolder>
        var waiting: KeyedLimiter<QuotaHolder>
    }

    private let use: Mutex<Use>

    /// Creates an unused budget.
    ///
    /// - Parameters:
    ///   - messageBytes: the maximum length of a message. The budget has space for at least eight.
    ///   - frameBytes: the maximum of the reserved frames together, if that is more. A peer may use a quarter of it,
    ///     and never more than half of what is free.
    package init(
        messageBytes: Int,
        frameBytes: Int = frameBytes,
        waitingBytes: Int = waitingBytes,
        waitingBytesEach: Int = waitingBytesEach
    ) {
        let total = max(frameBytes, 8 * messageBytes)
        self.use = Mutex(
            Use(
                frames: KeyedLimiter(total: total, perKey: total / 4, sharesOfFree: 2),
                waiting: KeyedLimiter(total: waitingBytes, perKey: waitingBytesEach, sharesOfFree: 2)
            )
        )
    }

    /// The reserved bytes, and the bytes of waiting frames.
    package var used: (frames: Int, waiting: Int) { self.use.withLock { ($0.frames.count, $0.waiting.count) } }

    /// Reserves the length of a frame, if there is space.
    func reserve(_ bytes: Int, for holder: QuotaHolder) -> Bool {
        self.use.withLock { $0.frames.enter(holder, adding: bytes) }
    }

    /// Counts further bytes of a waiting frame, if there is space.
    func wait(_ bytes: Int, for holder: QuotaHolder) -> Bool {
        self.use.withLock { $0.waiting.enter(holder, adding: bytes) }
    }

    /// Returns what a frame has used.
    func release(reserved: Int, waiting: Int, for holder: QuotaHolder) {
        guard reserved > 0 || waiting > 0 else { return }
        self.use.withLock { use in
            use.frames.add(-reserved, for: holder)
            use.waiting.add(-waiting, for: holder)
        }
    }
}
