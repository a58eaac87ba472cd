// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

extension Introduction {
    /// Connects to an endpoint. TLS's handshake follows while the conversation runs.
    ///
    /// - Parameters:
    ///   - times: the timeouts of the conversation.
    ///   - limit: the maximum length of the peer's frames, without their length fields, in bytes.
    ///   - advice: what to do when the endpoint cannot be reached. Full sentences.
    static func connect(
        to endpoint: Endpoint,
        tls: IntroductionTLS<Message>,
        _ network: TransportNetwork,
        times: IntroductionTimes = IntroductionTimes(all: IntroductionTimes.wholeByDefault),
        limit: Int = Message.maxBytes,
        advice: String
    ) async throws -> Introduction {
        let transport = try network.transport(for: endpoint)
        let eventLoop = transport.anyEventLoop()
        let prepared = Prepared<Message>()
        do {
            // The timeout for connecting to one address.
            let channel = try await transport.connect(to: endpoint, on: eventLoop, timeout: .seconds(5)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let conversation = try Introduction(
                        channel,
                        tls: try tls.clientHandler(),
                        times: times,
                        limit: limit
                    )
                    prepared.conversations.withLock { $0[ObjectIdentifier(channel)] = conversation }
                }
            }.get()
            guard let conversation = prepared.conversations.withLock({ $0[ObjectIdentifier(channel)] }) else {
                throw TransportError.brokenOff
            }
            return conversation
        } catch let error as TransportError where error.code == .outOfReach {
            throw error
        } catch {
            throw TransportError(
                .unreachable,
                "No connection to \(endpoint.host) port \(endpoint.port). \(advice)",
                side: .network,
                canRetry: true,
                cause: error
            )
        }
    }
}

/// The conversations of the prepared channels. A host name may have several addresses; the transport returns the
/// channel that connected.
private final class Prepared<Message: IntroductionMessage>: Sendable {
    let conversations = Mutex<[ObjectIdentifier: Introduction<Message>]>([:])
}
