// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization

/// The announced places at which machines wait for a pairing. A value without I/O.
///
/// Any machine can announce any number of places. So peer keys take turns, and many places at one address do not hide
/// those at another one. A machine that announces the addresses of many others can still fill the list.
struct PairingPlaces {
    /// The maximum number of places in the list.
    static let maxCount = 16

    /// The peer keys, in the order in which they were found, with the places of each. More than ``maxCount`` of either
    /// can never be in the list.
    private var keys: [PeerKey] = []
    private var places: [PeerKey: [PairingPlace]] = [:]

    /// Adds a place. The peer key is that of its first host.
    mutating func add(_ place: PairingPlace) {
        let key = PeerKey(Endpoint(host: place.hosts.first ?? "", port: place.port))
        guard let known = self.places[key] else {
            guard self.keys.count < Self.maxCount else { return }
            self.keys.append(key)
            self.places[key] = [place]
            return
        }
        guard known.count < Self.maxCount, !known.contains(place) else { return }
        self.places[key] = known + [place]
    }

    /// The list: first a place of each peer key, then a second one of each, and so on.
    var inTurns: [PairingPlace] {
        var list: [PairingPlace] = []
        for turn in 0..<Self.maxCount {
            for key in self.keys {
                guard let places = self.places[key], turn < places.count else { continue }
                list.append(places[turn])
            }
        }
        return Array(list.prefix(Self.maxCount))
    }
}

/// The places that the browses of several sources find.
final class FoundPairingPlaces: Sendable {
    private let places = Mutex(PairingPlaces())

    func add(_ place: PairingPlace) { self.places.withLock { $0.add(place) } }

    var inTurns: [PairingPlace] { self.places.withLock { $0.inTurns } }
}
