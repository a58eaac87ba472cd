// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsTransport
import Synchronization

/// A clock for code above the connections. It stands still until a test advances it.
final class ManualClock: ManualTime {
    private let current = Mutex(ContinuousClock.now)

    var now: ContinuousClock.Instant { self.current.withLock { $0 } }
    var deadline: NIODeadline { .now() }

    func advance(by time: Duration) { self.current.withLock { $0 += time } }

    func sleep(until instant: ContinuousClock.Instant) async throws {
        while self.now < instant { try await Task.sleep(for: .milliseconds(5)) }
    }
}
