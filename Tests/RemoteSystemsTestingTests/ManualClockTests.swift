// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTesting
import Testing

@Suite struct ManualClockTests {
    @Test func `a task that sleeps on the clock wakes when time is moved, not before`() async throws {
        let clock = ManualClock()
        async let slept: Duration = {
            try await clock.sleep(for: .seconds(3))
            return clock.elapsed
        }()
        try await clock.advance(by: .seconds(2))
        try await clock.advance(by: .seconds(2))
        let elapsed = try await slept
        #expect(elapsed >= .seconds(3))
    }
}
