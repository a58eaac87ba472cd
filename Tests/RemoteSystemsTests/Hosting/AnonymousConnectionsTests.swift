// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// The maximum numbers of connections for systems of other accounts.
@Suite struct AnonymousConnectionsTests {
    /// Stands for a connection.
    private final class Place {}

    private static func peer(_ number: Int) -> PeerKey { PeerKey(transport: .ip, [UInt8(number)]) }

    /// Each connection is a pair of numbers: the system and the peer's address.
    @Test(
        arguments: [
            // At most four of one system, from any address.
            ([(1, 1), (1, 2), (1, 3), (1, 4)], (1, 5), false),
            ([(1, 1), (1, 2), (1, 3)], (1, 4), true),
            // At most eight from one address, with any number of system ids.
            ((1...8).map { ($0, 1) }, (9, 1), false),
            ((1...7).map { ($0, 1) }, (9, 1), true),
            ((1...8).map { ($0, 1) }, (9, 2), true),
            // At most sixteen in total.
            ((1...16).map { ($0, $0) }, (17, 17), false),
            ((1...15).map { ($0, $0) }, (17, 17), true),
        ] as [([(Int, Int)], (Int, Int), Bool)]
    )
    func `another connection is accepted while the limits in total, per system and per address allow it`(
        open: [(Int, Int)],
        next: (Int, Int),
        isIn: Bool
    ) throws {
        let connections = AnonymousConnections()
        var places: [Place] = []
        func enter(_ system: Int, _ peer: Int) throws -> Bool {
            places.append(Place())
            let id = try #require(SystemID(bytes: [UInt8](repeating: UInt8(system), count: 32)))
            return connections.enter(ObjectIdentifier(try #require(places.last)), system: id, peer: Self.peer(peer))
        }
        for (system, peer) in open { #expect(try enter(system, peer)) }
        #expect(try enter(next.0, next.1) == isIn)
        connections.leave(ObjectIdentifier(places[0]))
        #expect(try enter(open[0].0, open[0].1))
    }
}
