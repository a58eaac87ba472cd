// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystems

/// The refusal as revoked in the memory of known systems.
@Suite struct KnownRefusalTests {
    private static func refusal(_ system: Int, certificateEnd: Int, at time: Int) throws -> KnownEndpoints.Refusal {
        let id = "\(try KnownEndpointsTests.system(system))"
        return KnownEndpoints.Refusal(system: id, certificateEnd: certificateEnd, time: time)
    }

    @Test func `the last refusal is stored, at most once a day for one certificate`() throws {
        let (now, day) = (KnownEndpointsTests.now, KnownEndpointsTests.day)
        var known = KnownEndpointsTests.empty()
        let isStored = [
            known.refused(try Self.refusal(1, certificateEnd: now + day, at: now)),
            known.refused(try Self.refusal(2, certificateEnd: now + day, at: now + 1)),
            known.refused(try Self.refusal(2, certificateEnd: now + day, at: now + day)),
            known.refused(try Self.refusal(2, certificateEnd: now + 2 * day, at: now + day)),
        ]
        #expect(isStored == [true, false, true, true])
        let read = try KnownEndpoints(file: try known.file())
        #expect(read == known && read.refusal?.certificateEnd == now + 2 * day)
    }

    @Test func `a refusal by no system's id is ignored, and a system without a name is kept`() throws {
        var known = KnownEndpointsTests.empty()
        known.refused(KnownEndpoints.Refusal(system: "none", certificateEnd: 1, time: 1))
        let system = try KnownEndpointsTests.system(1)
        known.met(system, KnownEndpoints.Meeting(name: "", certificateEnd: 1, time: KnownEndpointsTests.now))
        let read = try KnownEndpoints(file: try known.file())
        #expect(read.refusal == nil && read.met[system]?.name == "")
    }
}
