// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// What the connecting side advises when the waiting side refused its purpose. It does not know the other purpose.
@Suite struct PairingAdviceTests {
    @Test(arguments: [false, true])
    func `the advice to link two accounts comes before the one to leave an account`(joins: Bool) throws {
        let purpose = PairingIntention.Purpose.ownAccount(admits: true, joins: joins)
        let message = PairingStop.refused(.purpose).error(wanting: purpose).message
        let link = try #require(message.firstRange(of: "'--link' on both machines"))
        let leave = try #require(message.firstRange(of: "'--leave-account'"))
        #expect(link.upperBound < leave.lowerBound)
        // Two machines of one account with the root key may have different discovery keys.
        #expect(message.contains("prints the same account on both, there is nothing to pair") == !joins)
    }
}
