// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// How often one system may ask the user in vain.
@Suite struct QuestionPaceTests {
    private static func holder(_ number: UInt8) throws -> QuotaHolder {
        .system(try #require(SystemID(bytes: [UInt8](repeating: number, count: 32))))
    }

    @Test func `a system may ask in vain three times, then once in 20 seconds, and another one as often`() throws {
        let start = ContinuousClock.now
        let hostile = try Self.holder(1)
        var pace = QuestionPace()
        for _ in 0..<3 {
            #expect(pace.permits(hostile, at: start))
            pace.countDenial(of: hostile, at: start)
        }
        #expect(!pace.permits(hostile, at: start))
        #expect(!pace.permits(hostile, at: start + .seconds(19)))
        #expect(pace.permits(try Self.holder(2), at: start))
        let later = start + .seconds(21)
        #expect(pace.permits(hostile, at: later))
        pace.countDenial(of: hostile, at: later)
        #expect(!pace.permits(hostile, at: later))
    }
}
