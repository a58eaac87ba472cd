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
        records: [TopicSchema.Records(Self.list, fields: [.required("Bytes", .data)])]
    )

    /// A list longer than one record is cut into several.
    private static let list = "list/"
    private static let pieceBytes = 15 << 10

    static func records(of revocations: RevocationList?) -> [StateKey: ValueSet] {
        var records: [StateKey: ValueSet] = [:]
        var left = (revocations?.bytes ?? [])[...]
        while !left.isEmpty {
            records["\(Self.list)\(records.count)"] = ["Bytes": .data(Data(left.prefix(Self.pieceBytes)))]
            left = left.dropFirst(Self.pieceBytes)
        }
        return records
    }

    /// The list in the records, which nobody has verified yet; `nil` when there is none.
    static func revocations(in records: [StateKey: ValueSet]) -> [UInt8]? {
        var bytes: [UInt8] = []
        for number in 0..<records.count {
            guard let piece = records["\(Self.list)\(number)"]?["Bytes"]?.data else { break }
            bytes += piece
            guard bytes.count <= RevocationList.maxBytes else { return nil }
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

    func update(_ revocations: RevocationList?) throws(TransportError) {
        try self.topic.replace(by: TrustTopic.records(of: revocations))
    }
}

extension AccountContext {
    /// Takes into use what the peer publishes about revoked systems, until the connection ends or the task is cancelled.
    /// Which system passes a list on does not matter, since the account's key signed it.
    func followTrust(over connection: Connection, logger: Logger) async {
        let subscriber = StateSubscriber(TrustTopic.schema)
        do {
            _ = try await subscriber.follow(over: connection) { _ in
                guard let list = TrustTopic.revocations(in: subscriber.records) else { return }
                try await self.takeWhenPossible(revocations: list, from: connection.peer, logger)
            }
        } catch {
            // The task was cancelled.
        }
    }

    private func takeWhenPossible(revocations: [UInt8], from peer: PeerIdentity, _ logger: Logger) async throws {
        while true {
            do {
                return try await self.take(revocations: revocations)
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
