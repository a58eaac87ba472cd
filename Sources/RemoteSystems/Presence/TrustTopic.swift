// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// The topic `trust`: what a system knows of revoked systems, for the others of its account
/// (`Docs/wire/revocation.md`). Both sides of a presence connection publish it.
enum TrustTopic {
    static let schema = TopicSchema(
        "trust",
        priority: .trust,
        records: [Self.list, Self.roots].map { TopicSchema.Records($0, fields: [.required("Bytes", .data)]) }
    )

    /// What is longer than one record is cut into several.
    private static let list = "list/"
    private static let roots = "roots/"
    private static let pieceBytes = 15 << 10

    /// - Parameter roots: the account's root keys, without which a list may not be judged. Nothing is said of the first
    ///   one alone, which everybody knows.
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

    /// The list in the records, which nobody has verified yet; `nil` when there is none.
    static func revocations(in records: [StateKey: ValueSet]) -> [UInt8]? {
        self.joined(records, self.list, maxBytes: RevocationList.maxBytes)
    }

    /// The root keys in the records, which nobody has verified yet; `nil` when there are none.
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
    /// Takes into use what the peer publishes about revoked systems, until the connection ends or the task is cancelled.
    /// Which system passes a list on does not matter, since the account's key signed it.
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

    /// Takes what another system has shown into use, if it is newer: root keys first, which the list may need.
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
                        "A revocation list was not taken",
                        metadata: ["system": "\(peer.systemID.short)", "reason": "\(error)"]
                    )
                }
            }
            // The account's files are in use. Meanwhile the peer's credit runs out.
            try await self.environment.time.sleep(for: .seconds(1))
        }
    }
}
