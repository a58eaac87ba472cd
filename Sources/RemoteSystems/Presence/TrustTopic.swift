// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// The topic `trust`: the revocations that a system knows, for other systems of its account
/// (`Docs/wire/revocation.md`). Both sides of a presence connection publish it.
enum TrustTopic {
    static let schema = TopicSchema(
        "trust",
        priority: .trust,
        records: [Self.list, Self.roots].map { TopicSchema.Records($0, fields: [.required("Bytes", .data)]) }
    )

    /// The prefixes of the records' keys. Contents longer than one record are split into several.
    private static let list = "list/"
    private static let roots = "roots/"
    private static let pieceBytes = 15 << 10

    /// Returns the records of a revocation list and the root keys.
    ///
    /// - Parameter roots: the account's root keys, which peers may need to verify the list. If there is only the first
    ///   root key, which all systems know, the records do not include it.
    static func records(of revocations: RevocationList?, roots: RootChain) -> [StateKey: ValueSet] {
        let chain = roots.count > 1 ? roots.bytes : []
        return self.pieces(of: revocations?.bytes ?? [], self.list).merging(self.pieces(of: chain, self.roots)) { $1 }
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

    /// Returns the unverified revocation list in the records; `nil` if there is none.
    static func revocations(in records: [StateKey: ValueSet]) -> [UInt8]? {
        self.joined(records, self.list, maxBytes: RevocationList.maxBytes)
    }

    /// Returns the unverified root keys in the records; `nil` if there are none.
    static func roots(in records: [StateKey: ValueSet]) -> [UInt8]? {
        self.joined(records, self.roots, maxBytes: RootChain.maxBytes)
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

    init(on publisher: StatePublisher) throws(TransportError) {
        self.topic = try publisher.open(TrustTopic.schema, for: .sameAccount)
    }

    func update(_ revocations: RevocationList?, roots: RootChain) throws(TransportError) {
        try self.topic.replace(by: TrustTopic.records(of: revocations, roots: roots))
    }
}

extension AccountContext {
    /// Installs the revocations and root keys that the peer publishes, until the connection ends or the task is
    /// cancelled. Any system may forward a list, since the account's root key signed it.
    func followTrust(over connection: Connection, logger: Logger) async {
        let subscriber = StateSubscriber(TrustTopic.schema)
        do {
            _ = try await subscriber.follow(over: connection) { _ in
                let records = subscriber.records
                try await self.takeWhenPossible(
                    TrustTopic.revocations(in: records),
                    after: TrustTopic.roots(in: records),
                    from: connection.peer,
                    logger
                )
            }
        } catch {
            // The task was cancelled.
        }
    }

    /// Installs a peer's root keys and revocation list if they are newer: root keys first, since the list may need
    /// them.
    ///
    /// - Throws: ``RemoteSystemError``, ``TrustError``.
    func take(revocations: [UInt8]?, after roots: [UInt8]?) async throws {
        if let roots {
            let security = try self.security()
            if roots != security.trust.own.roots.bytes { try security.learn(roots: RootChain(roots)) }
        }
        if let revocations { try await self.take(revocations: revocations) }
    }

    private func takeWhenPossible(
        _ revocations: [UInt8]?,
        after roots: [UInt8]?,
        from peer: PeerIdentity,
        _ logger: Logger
    ) async throws {
        while true {
            do {
                return try await self.take(revocations: revocations, after: roots)
            } catch {
                let error = RemoteSystemError(error)
                guard error.canRetry else {
                    return logger.notice(
                        "A revocation list was rejected",
                        metadata: ["system": "\(peer.systemID.short)", "reason": "\(error)"]
                    )
                }
            }
            // The account's files are locked. Waiting here uses up the peer's credit, so it sends no more.
            try await self.environment.time.sleep(for: .seconds(1))
        }
    }
}
