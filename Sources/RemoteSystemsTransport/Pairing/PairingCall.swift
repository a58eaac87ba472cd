// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
package import RemoteSystemsIdentity

/// The connecting side of a pairing.
package enum PairingCall {
    /// Pairs with the system that waits at an endpoint.
    ///
    /// - Throws: ``PairingStop``; ``PairingUnfinished``; ``TransportError``; ``IdentityError``; errors of the steps;
    ///   `CancellationError`.
    package static func pair<Outcome: Sendable>(
        host: String,
        port: Int,
        intention: PairingIntention,
        network: TransportNetwork,
        steps: PairingSteps<Outcome>
    ) async throws -> Outcome {
        let key = try PairingKey(now: Date())
        let connection = try await Introduction<PairingMessage>.connect(
            to: network.endpoint(host: host, port: port),
            tls: try PairingTLS(certificate: key.certificate, privateKeyPEM: key.privateKeyPEM),
            network,
            advice: "Check that 'remotesystems pair' waits there, and that the network allows the connection."
        )
        let conversation = PairingConversation(
            role: .connecting,
            key: key,
            intention: intention,
            steps: steps,
            time: network.time
        )
        return try await conversation.run(connection)
    }
}
