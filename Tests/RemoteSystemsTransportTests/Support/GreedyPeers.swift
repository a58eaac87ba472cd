// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

/// Peers that reserve as much of a budget as they get.
enum GreedyPeers {
    /// The peer with this number.
    static func peer(_ number: UInt8) throws -> QuotaHolder {
        .system(try #require(SystemID(bytes: [UInt8](repeating: number, count: 32))))
    }

    /// The linked account with this number.
    static func account(_ number: UInt8) throws -> QuotaHolder {
        .account(try #require(AccountID(bytes: [UInt8](repeating: number, count: 32))))
    }

    /// Lets the peers 1 to 20 reserve in steps of 64 KiB, one after the other.
    ///
    /// - Returns: The bytes that the first one got, and that all got.
    static func reserveAll(_ reserve: (Int, QuotaHolder) -> Bool) throws -> (first: Int, all: Int) {
        let step = 64 << 10
        var (first, all) = (0, 0)
        for number in 1...20 as ClosedRange<UInt8> {
            let peer = try Self.peer(number)
            while reserve(step, peer) { all += step }
            if number == 1 { first = all }
        }
        return (first, all)
    }
}
