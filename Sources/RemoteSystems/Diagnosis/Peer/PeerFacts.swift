// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsTransport

/// What an examination has found out about another system.
struct PeerFacts: Sendable {
    /// The result of connecting to the other system.
    enum Way: Sendable {
        /// This system has no account, so it cannot trust a peer.
        case noAccount
        case failed(TransportError)
        /// The other system responds but does not know the diagnosis service.
        case cannotHelp
        case open
    }

    /// The name of the other system on this one.
    var name: String
    var way: Way
    /// The other system's address, if known.
    var address: String?
    /// Whether the address is on a local network of this machine, without a router in between.
    var isNeighbour: Bool?
    var isThisSystem = false
    var version: ProtocolVersion?
    var software: String?
    /// How far the other clock is ahead of this one, in seconds, with an uncertainty of ``clockDoubt``.
    var clockAhead: Double?
    var clockDoubt = 0.0
    /// The port of this system that the other one should connect to.
    var port = 0
    /// Whether a program that does not belong to this system listens on that port.
    var isPortTaken = false
    var connectsBack: BackConnection?
    /// Whether the other system advertises itself.
    var isAdvertised = true
    var weSeeIt: Bool?
    var itSeesUs: Bool?

    init(name: String, way: Way) {
        self.name = name
        self.way = way
    }
}
