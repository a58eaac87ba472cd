// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsTransport

/// What was found out about another system, together with it.
struct PeerFacts: Sendable {
    /// How the way there ended.
    enum Way: Sendable {
        /// There is no account here, so nobody could be believed.
        case noAccount
        case failed(TransportError)
        /// It answers and cannot help: it runs a version that does not know this.
        case cannotHelp
        case open
    }

    /// What it is called here.
    var name: String
    var way: Way
    /// Its address, where known.
    var address: String?
    /// Whether the address is on a network of this machine's, so that no router lies between.
    var isNeighbour: Bool?
    var isThisSystem = false
    var version: ProtocolVersion?
    var software: String?
    /// How far its clock is ahead of ours, in seconds, give or take ``clockDoubt``.
    var clockAhead: Double?
    var clockDoubt = 0.0
    /// The port of ours that it was to connect to, and what came of that.
    var port = 0
    /// Whether something that is not of this system has that port here.
    var isPortTaken = false
    var connectsBack: BackConnection?
    /// Whether it announces itself at all.
    var isAdvertised = true
    var weSeeIt: Bool?
    var itSeesUs: Bool?

    init(name: String, way: Way) {
        self.name = name
        self.way = way
    }
}
