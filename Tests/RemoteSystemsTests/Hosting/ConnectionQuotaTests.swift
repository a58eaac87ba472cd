// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystems

/// How a host's connections are divided among systems, without connections.
@Suite struct ConnectionQuotaTests {
    static func system(_ number: UInt8) throws -> SystemID {
        try #require(SystemID(bytes: [UInt8](repeating: number, count: 32)))
    }

    @Test func `one system is limited to its share, and others are still admitted`() throws {
        var quota = ConnectionQuota(limit: 10, share: 3)
        let (one, other) = (try Self.system(1), try Self.system(2))
        for _ in 0..<3 {
            #expect(quota.admission(for: one, isOwn: false) == .free)
            #expect(quota.enter(one, isOwn: false) == true)
        }
        #expect(quota.admission(for: one, isOwn: false) == .fullForSystem(shouldReport: true))
        #expect(quota.admission(for: one, isOwn: false) == .fullForSystem(shouldReport: false))
        #expect(quota.enter(one, isOwn: false) == false)
        #expect(quota.admission(for: other, isOwn: false) == .free)
        #expect(quota.enter(other, isOwn: false) == true)
        quota.leave(one)
        #expect(quota.enter(one, isOwn: false) == true)
        #expect(quota.count == 4)
    }

    @Test func `the programs of the host's own system may use the whole limit`() throws {
        var quota = ConnectionQuota(limit: 10, share: 3)
        let own = try Self.system(1)
        for _ in 0..<10 {
            #expect(quota.admission(for: own, isOwn: true) == .free)
            #expect(quota.enter(own, isOwn: true) == true)
        }
        #expect(quota.admission(for: own, isOwn: true) == .full(shouldReport: true))
        #expect(quota.admission(for: try Self.system(2), isOwn: false) == .full(shouldReport: false))
        #expect(quota.enter(own, isOwn: true) == false)
    }

    @Test func `no state is kept for systems without a connection`() throws {
        var quota = ConnectionQuota(limit: 4)
        for number in 0..<UInt8.max {
            let system = try Self.system(number)
            #expect(quota.admission(for: system, isOwn: false) == .free)
            #expect(quota.enter(system, isOwn: false) == true)
            quota.leave(system)
            quota.leave(system)
        }
        #expect(quota.systems == 0)
        #expect(quota.count == 0)
    }

    @Test(
        arguments: [
            (16_384, nil, 4_096), (850, nil, 212), (40, nil, 16), (8, nil, 8), (1, nil, 1), (0, nil, 1),
            (100, 7, 7), (100, 0, 1), (100, -3, 1), (100, 1_000, 100),
        ] as [(Int, Int?, Int)]
    )
    func `the default share is a quarter, and at least what a system needs`(limit: Int, share: Int?, found: Int) {
        #expect(ConnectionQuota(limit: limit, share: share).share == found)
    }

    @Test func `a full system is reported again after half of its share was free`() throws {
        var quota = ConnectionQuota(limit: 100, share: 4)
        let one = try Self.system(1)
        for _ in 0..<4 { #expect(quota.enter(one, isOwn: false) == true) }
        #expect(quota.admission(for: one, isOwn: false) == .fullForSystem(shouldReport: true))
        quota.leave(one)
        #expect(quota.admission(for: one, isOwn: false) == .free)
        #expect(quota.enter(one, isOwn: false) == true)
        #expect(quota.admission(for: one, isOwn: false) == .fullForSystem(shouldReport: false))
        for _ in 0..<2 { quota.leave(one) }
        #expect(quota.admission(for: one, isOwn: false) == .free)
        for _ in 0..<2 { #expect(quota.enter(one, isOwn: false) == true) }
        #expect(quota.admission(for: one, isOwn: false) == .fullForSystem(shouldReport: true))
    }
}
