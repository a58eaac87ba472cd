// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// The limits of connections with systems of linked accounts.
@Suite struct LinkedConnectionsTests {
    /// An object for each connection, whose identity stands for it.
    private final class Connection {}

    private static func system(_ number: Int) throws -> SystemID {
        try #require(SystemID(bytes: [UInt8(number & 255), UInt8(number >> 8)] + [UInt8](repeating: 1, count: 30)))
    }

    private static func account(_ number: Int) throws -> AccountID {
        try #require(AccountID(bytes: [UInt8(number)] + [UInt8](repeating: 2, count: 31)))
    }

    @Test func `one system, one linked account and all of them together have a limit`() throws {
        let connections = LinkedConnections()
        var open: [Connection] = []
        func enter(_ system: Int, of account: Int) throws -> Bool {
            let connection = Connection()
            open.append(connection)
            return connections.enter(
                ObjectIdentifier(connection),
                system: try Self.system(system),
                account: try Self.account(account)
            )
        }
        for _ in 0..<LinkedConnections.maxPerSystem { #expect(try enter(1, of: 1)) }
        #expect(try !enter(1, of: 1))
        #expect(try !connections.hasCapacity(for: Self.system(1), of: Self.account(1)))
        // A linked account can certify any number of systems.
        for number in LinkedConnections.maxPerSystem..<LinkedLimits.perAccount {
            #expect(try enter(100 + number, of: 1))
        }
        #expect(try !enter(2, of: 1))
        #expect(try !connections.hasCapacity(for: Self.system(2), of: Self.account(1)))
        for account in 2...4 {
            for number in 0..<LinkedLimits.perAccount {
                #expect(try enter(1000 * account + number, of: account))
            }
        }
        #expect(try !enter(3, of: 5))
        connections.leave(ObjectIdentifier(open[0]))
        connections.leave(ObjectIdentifier(open[0]))
        #expect(try connections.hasCapacity(for: Self.system(3), of: Self.account(5)))
        #expect(try !connections.hasCapacity(for: Self.system(3), of: nil))
        #expect(try enter(3, of: 5))
        #expect(try !enter(4, of: 5))
    }
}
