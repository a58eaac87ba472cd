// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization

/// The announced places at which machines wait for a pairing. A value without I/O.
///
/// Any machine can announce any number of places, also at addresses of other machines. So peer keys take turns, and
/// many places at one address do not hide those at another one. If there are more peer keys than the list has places,
/// the list is a random selection of them, as that of a peer key's places is: a place is neither shown nor hidden
/// because it was announced first, last or often. Each list is another selection.
struct PairingPlaces {
    /// The maximum number of places in the list.
    static let maxCount = 16

    /// Decides on the order of peer keys and places. Other machines do not know it, so they can choose no announcements
    /// that come first.
    private let salt: UInt64
    /// The places of each peer key. More than ``maxCount`` of either can never be in the list.
    private var places: [PeerKey: Set<PairingPlace>] = [:]

    init(salt: UInt64 = .random(in: .min ... .max)) {
        self.salt = salt
    }

    /// Adds a place. The peer key is that of its first host.
    mutating func add(_ place: PairingPlace) {
        let key = PeerKey(Endpoint(host: place.hosts.first ?? "", port: place.port))
        var known = self.places[key] ?? []
        known.insert(place)
        if known.count > Self.maxCount, let last = known.max(by: self.precedes) { known.remove(last) }
        self.places[key] = known
        if self.places.count > Self.maxCount, let last = self.places.keys.max(by: self.precedes) {
            self.places[last] = nil
        }
    }

    /// The list: first a place of each peer key, then a second one of each, and so on.
    var inTurns: [PairingPlace] {
        let keys = self.places.keys.sorted(by: self.precedes)
        let places = keys.map { self.places[$0, default: []].sorted(by: self.precedes) }
        var list: [PairingPlace] = []
        for turn in 0..<Self.maxCount {
            for known in places where turn < known.count { list.append(known[turn]) }
        }
        return Array(list.prefix(Self.maxCount))
    }

    /// Whether a value comes before another one in the random order.
    private func precedes<Value: Hashable>(_ value: Value, _ other: Value) -> Bool {
        self.rank(value) < self.rank(other)
    }

    private func rank(_ value: some Hashable) -> Int {
        var hasher = Hasher()
        hasher.combine(self.salt)
        hasher.combine(value)
        return hasher.finalize()
    }
}

/// The places that the browses of several sources find.
final class FoundPairingPlaces: Sendable {
    private let places = Mutex(PairingPlaces())

    func add(_ place: PairingPlace) { self.places.withLock { $0.add(place) } }

    var inTurns: [PairingPlace] { self.places.withLock { $0.inTurns } }
}
