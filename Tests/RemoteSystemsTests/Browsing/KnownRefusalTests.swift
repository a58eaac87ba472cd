// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
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

    @Test func `a system that accepts this one takes its refusal back, another one does not`() throws {
        let now = KnownEndpointsTests.now
        var known = KnownEndpointsTests.empty()
        let meeting = KnownEndpoints.Meeting(name: "den", certificateEnd: now, time: now)
        for number in 1...2 { known.met(try KnownEndpointsTests.system(number), meeting) }
        known.refused(try Self.refusal(1, certificateEnd: now, at: now))
        known.met(try KnownEndpointsTests.system(2), meeting)
        #expect(known.refusal != nil)
        let isWorthStoring = known.met(try KnownEndpointsTests.system(1), meeting)
        #expect(isWorthStoring && known.refusal == nil)
    }

    @Test func `a refusal of a certificate that this system has replaced since is not noted`() throws {
        let (present, former): ([UInt8], [UInt8]) = ([1], [2])
        let system = try KnownEndpointsTests.system(1)
        var error = TransportError(
            .refused,
            "Your system was revoked.",
            side: .remote,
            openStatus: .notAuthorized,
            peer: system,
            failureCode: FailureCode.revoked.rawValue
        )
        error.peerStanding = .sameAccount
        error.ownCertificate = former
        #expect(error.systemRefusingAsRevoked(present) == nil)
        error.ownCertificate = present
        #expect(error.systemRefusingAsRevoked(present) == system)
        error.peerStanding = .linked
        #expect(error.systemRefusingAsRevoked(present) == nil)
    }

    @Test func `a meeting that waited to be stored does not replace a later one`() throws {
        let (now, system) = (KnownEndpointsTests.now, try KnownEndpointsTests.system(1))
        var known = KnownEndpointsTests.empty()
        known.met(system, KnownEndpoints.Meeting(name: "new", certificateEnd: 2, time: now))
        known.met(system, KnownEndpoints.Meeting(name: "old", certificateEnd: 1, time: now - 5))
        #expect(known.met[system]?.name == "new")
        // A clock that was wrong by more than an hour does not keep later changes out.
        known.met(system, KnownEndpoints.Meeting(name: "after", certificateEnd: 3, time: now - 7200))
        #expect(known.met[system]?.name == "after")
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
