// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
package import RemoteSystemsIdentity
internal import Synchronization

/// The connecting side of a pairing.
package enum PairingCall {
    /// Pairs with the system that waits at an endpoint.
    ///
    /// Tries again while the waiting side closes the connection before it has committed: its port may be flooded. Not
    /// after this side has sent its nonce: the other side knows the digits then, and each further attempt would be one
    /// guess more for a machine in the middle.
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
        let times = IntroductionTimes(all: IntroductionTimes.wholeByDefault)
        return try await Self.pair(
            host: host,
            port: port,
            intention: intention,
            network: network,
            times: times,
            steps: steps
        )
    }

    /// Pairs, with timeouts for each connection and a number of retries.
    static func pair<Outcome: Sendable>(
        host: String,
        port: Int,
        intention: PairingIntention,
        network: TransportNetwork,
        times: IntroductionTimes,
        retries: IntroductionRetries = IntroductionRetries(),
        steps: PairingSteps<Outcome>
    ) async throws -> Outcome {
        let hasAnswered = Mutex(false)
        for retry in stride(from: 1, through: retries.count, by: 1) {
            do {
                return try await Self.attempt(host: host, port: port, intention, network, times, steps) {
                    hasAnswered.withLock { $0 = true }
                }
            } catch let error where IntroductionRetries.apply(to: error) && !hasAnswered.withLock({ $0 }) {
                // Nothing reports that the waiting machine has a place again.
                try await Task.sleep(for: retries.pause(before: retry))
            }
        }
        return try await Self.attempt(host: host, port: port, intention, network, times, steps) {}
    }

    // Not inlined: see Docs/decisions/0008-async-frames.md.
    @inline(never)
    private static func attempt<Outcome: Sendable>(
        host: String,
        port: Int,
        _ intention: PairingIntention,
        _ network: TransportNetwork,
        _ times: IntroductionTimes,
        _ steps: PairingSteps<Outcome>,
        answered: @Sendable () -> Void
    ) async throws -> Outcome {
        let key = try PairingKey(now: Date())
        let connection = try await Introduction<PairingMessage>.connect(
            to: network.endpoint(host: host, port: port),
            tls: try PairingTLS(certificate: key.certificate, privateKeyPEM: key.privateKeyPEM),
            network,
            times: times,
            advice: "Check that 'remotesystems pair' waits there, and that the network allows the connection."
        )
        let conversation = PairingConversation(
            role: .connecting,
            key: key,
            intention: intention,
            steps: steps,
            time: network.time
        )
        return try await conversation.run(connection, answered: answered)
    }
}
