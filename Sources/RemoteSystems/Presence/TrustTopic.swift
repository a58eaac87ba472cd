// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// The topic `trust`: the revocations, the root keys, the discovery key and the links that a system knows, and what it
/// learned of linked accounts, for other systems of its account (`Docs/wire/revocation.md`, `Docs/wire/links.md`). Both
/// sides of a presence connection publish it. Systems of linked accounts receive the revocations and the root keys
/// only.
enum TrustTopic {
    static let schema = TopicSchema(
        "trust",
        priority: .trust,
        records: ([Self.roots, Self.discovery, Self.links, Self.linked] + Self.lists)
            .map { TopicSchema.Records($0, fields: [.required("Bytes", .data)]) }
    )

    /// The prefixes of the records' keys. Contents longer than one record are split into several.
    private static let roots = "roots/"
    private static let discovery = "discovery/"
    private static let links = "links/"
    /// What is known of linked accounts. The number of the account in the topic follows, then that of the piece.
    private static let linked = "linked/"
    /// The newest revocation list, and the older ones that it does not include.
    private static let lists = ["list/"] + (1...RevocationList.maxOlder).map { "list-\($0)/" }
    private static let pieceBytes = 15 << 10
    /// The maximum of ``linked`` in all. The rest of the topic is for the account's own lists.
    private static let linkedBytes = 192 << 10

    /// Returns the records of an account's trust.
    ///
    /// Peers may need the root keys to verify the rest. If there is only the first root key, which all systems know,
    /// the records do not include it.
    ///
    /// - Parameter learned: what was learned of linked accounts, each encoded.
    static func records(
        of account: TrustedAccount,
        links: LinkList? = nil,
        learned: [[UInt8]] = []
    ) -> [StateKey: ValueSet] {
        var records = self.pieces(of: account.roots.count > 1 ? account.roots.bytes : [], self.roots)
        // Receivers ignore a key without its list.
        for (prefix, list) in zip(self.lists, account.revocations?.allBytes ?? []) {
            records.merge(self.pieces(of: list, prefix)) { $1 }
        }
        records.merge(self.pieces(of: account.discoveryKey?.signedBytes ?? [], self.discovery)) { $1 }
        records.merge(self.pieces(of: links?.bytes ?? [], self.links)) { $1 }
        // A linked account with long lists must not exceed the limit of the topic. Such an account's own systems still
        // pass the lists on.
        var left = Self.linkedBytes
        for (number, bytes) in learned.prefix(LinkList.maxLinks).enumerated() where bytes.count <= left {
            left -= bytes.count
            records.merge(self.pieces(of: bytes, "\(self.linked)\(number)/")) { $1 }
        }
        return records
    }

    /// The peers that may subscribe, and what they receive. The discovery key and the list of links are secret: they
    /// are for the account alone.
    static func audience(_ security: TransportSecurity) -> TopicAudience {
        TopicAudience(
            view: { peer in
                guard security.trust.objection(to: peer, now: Date()) == nil else { return nil }
                return Authorisation.view(of: Self.schema.name, for: peer.standing)
            },
            includes: { view, key in
                view == .account || !Self.isSecret(key)
            }
        )
    }

    /// Whether a record is for systems of the same account only.
    static func isSecret(_ key: StateKey) -> Bool {
        [Self.links, Self.linked, Self.discovery].contains { "\(key)".hasPrefix($0) }
    }

    private static func pieces(of bytes: [UInt8], _ key: String) -> [StateKey: ValueSet] {
        var records: [StateKey: ValueSet] = [:]
        var left = bytes[...]
        while !left.isEmpty {
            records["\(key)\(records.count)"] = ["Bytes": .data(Data(left.prefix(Self.pieceBytes)))]
            left = left.dropFirst(Self.pieceBytes)
        }
        return records
    }

    /// Returns what the records present, unverified.
    static func presented(in records: [StateKey: ValueSet]) -> PresentedTrust {
        PresentedTrust(
            roots: self.joined(records, self.roots, maxBytes: RootChain.maxBytes),
            lists: self.lists.compactMap { self.joined(records, $0, maxBytes: RevocationList.maxBytes) },
            discoveryKey: self.joined(records, self.discovery, maxBytes: DiscoveryKey.signedByteCount)
        )
    }

    /// Returns the unverified list of links in the records; `nil` if there is none.
    static func links(in records: [StateKey: ValueSet]) -> [UInt8]? {
        self.joined(records, self.links, maxBytes: LinkList.maxBytes)
    }

    /// Returns what the records say of linked accounts, unverified.
    static func linked(in records: [StateKey: ValueSet]) -> [[UInt8]] {
        (0..<LinkList.maxLinks).compactMap { self.joined(records, "\(self.linked)\($0)/", maxBytes: self.linkedBytes) }
    }

    private static func joined(_ records: [StateKey: ValueSet], _ key: String, maxBytes: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        for number in 0..<records.count {
            guard let piece = records["\(key)\(number)"]?["Bytes"]?.data else { break }
            bytes += piece
            guard bytes.count <= maxBytes else { return nil }
        }
        return bytes.isEmpty ? nil : bytes
    }
}

/// Publishes the topic `trust`.
struct TrustPublication: Sendable {
    private let topic: PublishedTopic
    private let publisher: StatePublisher

    /// Opens the topic for the peers that are trusted at the time. The discovery key in it must not reach a system that
    /// has just been revoked.
    init(on publisher: StatePublisher, _ security: TransportSecurity) throws(TransportError) {
        self.publisher = publisher
        self.topic = try publisher.open(TrustTopic.schema, for: TrustTopic.audience(security))
    }

    /// Publishes what this system trusts now.
    func update(_ account: TrustedAccount, links: AccountLinks) throws(TransportError) {
        // First the rights: subscriptions of systems that were revoked end before the new records exist.
        self.publisher.reviewRights()
        try self.topic.replace(by: TrustTopic.records(of: account, links: links.list, learned: links.learned))
    }
}

extension AccountContext {
    /// Installs the trust that the peer publishes, until the connection ends or the task is cancelled. Any system may
    /// forward it, since the account's root key signed it.
    @inline(never)
    func followTrust(over connection: Connection) async {
        let subscriber = StateSubscriber(TrustTopic.schema, pace: self.trustStatePace)
        do {
            _ = try await subscriber.follow(over: connection) { _ in
                guard try await self.waitForTurn(of: connection.peer, while: { !subscriber.hasEnded }) else { return }
                try await self.takeWhenPossible(subscriber.records, from: connection.peer)
            }
        } catch {
            // The task was cancelled.
        }
    }

    /// Waits until what a peer publishes may be verified. Waiting uses up the peer's credit, so it sends no more.
    ///
    /// - Returns: whether it may; `false` if the subscription has ended. A peer that opens and closes connections must
    ///   not leave tasks that wait.
    private func waitForTurn(of peer: PeerIdentity, while isFollowed: () -> Bool) async throws -> Bool {
        let account: AccountID? = if case .linked(let account, _) = peer.standing { account } else { nil }
        // Increasing pauses, since all connections of the peer wait for the same turns.
        var pause = Duration.zero
        while let delay = self.trustPace.withLock({ pace -> Duration? in
            let now = self.environment.time.now
            if let account, let delay = pace.delayOfStoring(of: account, at: now) { return delay }
            return pace.delay(of: peer.systemID, account, at: now)
        }) {
            guard isFollowed() else { return false }
            pause = min(max(pause * 2, delay), .seconds(2))
            try await self.environment.time.sleep(for: pause)
        }
        return isFollowed()
    }

    /// The same for a limited time.
    func followTrust(over connection: Connection, for duration: Duration) async {
        await withTaskGroup(of: Void.self) { [time = self.environment.time] group in
            group.addTask { await self.followTrust(over: connection) }
            group.addTask { try? await time.sleep(for: duration) }
            await group.next()
            group.cancelAll()
        }
    }

    private func takeWhenPossible(_ records: [StateKey: ValueSet], from peer: PeerIdentity) async throws {
        while true {
            do {
                return try await self.take(records, from: peer.systemID, peer.standing)
            } catch {
                let error = RemoteSystemError(error)
                guard error.canRetry else {
                    return self.incidents.report(
                        .trustRejected,
                        by: peer.systemID,
                        of: peer.quotaHolder,
                        reason: "\(error)"
                    )
                }
            }
            // The account's files are locked, or too many changes wait for them.
            try await self.environment.time.sleep(for: .seconds(1))
        }
    }

    private func take(
        _ records: [StateKey: ValueSet],
        from system: SystemID,
        _ standing: Standing
    ) async throws {
        let presented = TrustTopic.presented(in: records)
        switch standing {
        case .sameAccount:
            // What is refused of one kind must not keep the others from being installed.
            var rejection: (any Error)?
            do {
                try await self.take(presented, from: .system(system))
            } catch {
                guard !RemoteSystemError(error).canRetry else { throw error }
                rejection = error
            }
            if let links = TrustTopic.links(in: records) {
                do {
                    try await self.take(links: links, from: system)
                } catch {
                    guard !RemoteSystemError(error).canRetry else { throw error }
                    rejection = rejection ?? error
                }
            }
            for linked in TrustTopic.linked(in: records) {
                do {
                    try await self.take(linked: linked, from: system)
                } catch {
                    guard !RemoteSystemError(error).canRetry else { throw error }
                    // What one linked account signed must not keep what others signed from being stored.
                    self.logger.debug(
                        "What another system knows of a linked account was rejected",
                        metadata: ["system": "\(system.short)", "reason": "\(error)"]
                    )
                }
            }
            if let rejection { throw rejection }
        case .linked(let account, _):
            try await self.learn(of: account, revocations: presented.lists, roots: presented.roots)
        case .anonymous:
            break
        }
    }
}
