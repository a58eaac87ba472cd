// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// What a system knows of its own revocation, which it does not receive.
@Suite struct RefusalTests {
    @Test func `a machine with the root key knows of its refusal, too, unless it has revoked the system that refused`()
        async throws
    {
        try await TwoMachines.with { machines in
            let account = machines.account("first")
            let own = try account.identity()
            let other = try machines.account("second").identity().systemID
            #expect(own.isAuthority)
            #expect(try account.refusalAsRevoked() == nil)
            let refusal = KnownEndpoints.Refusal(
                system: "\(other)",
                certificateEnd: Int(own.certificateValidity.upperBound.timeIntervalSince1970),
                time: Int(Date().timeIntervalSince1970)
            )
            try AccountStore(directory: "\(machines.directory)/first").update(.knownEndpoints) { _ in
                var known = KnownEndpoints.empty()
                known.refused(refusal)
                return try? known.file()
            }
            let known = try #require(try account.refusalAsRevoked())
            #expect(known.system == other && known.isAuthority)
            try account.revoke(other)
            #expect(try account.refusalAsRevoked() == nil)
        }
    }
}
