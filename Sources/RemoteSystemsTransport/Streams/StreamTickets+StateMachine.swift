// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import NIOCore
internal import RemoteSystemsIdentity

/// The pending offers of streams: the ticket, the system and the deadline of each.
///
/// A value type without I/O or a clock. It stores the SHA-256 of each ticket and looks offers up by it, so that the
/// time of a lookup reveals nothing about valid tickets.
struct StreamTicketsStateMachine {
    /// The SHA-256 of a ticket.
    struct Digest: Hashable {
        private let bytes: SHA256Digest

        init(_ ticket: StreamTicket) {
            self.bytes = SHA256.hash(data: ticket.bytes)
        }
    }

    private struct Offer {
        var id: UInt64
        var peer: SystemID
        var holder: QuotaHolder
        var purpose: String
        var deadline: NIODeadline
    }

    private let lifetime: TimeAmount
    private var offers: [Digest: Offer] = [:]
    private var limiter: KeyedLimiter<QuotaHolder>
    private var lastID: UInt64 = 0

    /// Creates the state without offers.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of pending offers. Defaults to 1024.
    ///   - limitPerHolder: the maximum number of pending offers for one holder of a quota. Defaults to 64.
    ///   - lifetime: how long an offer is valid. Defaults to 30 s.
    init(limit: Int = 1024, limitPerHolder: Int = 64, lifetime: TimeAmount = .seconds(30)) {
        self.limiter = KeyedLimiter(total: limit, perKey: limitPerHolder)
        self.lifetime = lifetime
    }

    var count: Int { self.offers.count }

    /// The result of an attempt to offer a stream.
    enum OnOffer: Equatable {
        case offered(id: UInt64, until: NIODeadline)
        case full
        case fullForHolder
    }

    mutating func offer(
        _ ticket: Digest,
        to peer: SystemID,
        of holder: QuotaHolder,
        purpose: String,
        now: NIODeadline
    ) -> OnOffer {
        _ = self.expire(now: now)
        switch self.limiter.capacity(for: holder) {
        case .free: self.limiter.add(1, for: holder)
        case .full: return .full
        case .fullForKey: return .fullForHolder
        }
        self.lastID += 1
        let deadline = now + self.lifetime
        self.offers[ticket] = Offer(
            id: self.lastID,
            peer: peer,
            holder: holder,
            purpose: purpose,
            deadline: deadline
        )
        return .offered(id: self.lastID, until: deadline)
    }

    /// Uses a ticket up, if it is valid for this system and purpose.
    ///
    /// - Returns: the id of the offer; `nil` for a ticket that is unknown, used, expired, for another system or for
    ///   another purpose.
    mutating func claim(_ ticket: Digest, by peer: SystemID, purpose: String, now: NIODeadline) -> UInt64? {
        guard let offer = self.offers[ticket], offer.peer == peer, offer.purpose == purpose, now < offer.deadline
        else { return nil }
        self.remove(ticket, offer)
        return offer.id
    }

    /// Removes an offer.
    mutating func withdraw(id: UInt64) {
        guard let (ticket, offer) = self.offers.first(where: { $0.value.id == id }) else { return }
        self.remove(ticket, offer)
    }

    /// Removes the offers whose deadline has passed.
    ///
    /// - Returns: the ids of the offers that have expired.
    mutating func expire(now: NIODeadline) -> [UInt64] {
        let expired = self.offers.filter { $0.value.deadline <= now }
        for (ticket, offer) in expired { self.remove(ticket, offer) }
        return expired.values.map(\.id)
    }

    private mutating func remove(_ ticket: Digest, _ offer: Offer) {
        self.offers[ticket] = nil
        self.limiter.leave(offer.holder)
    }
}
