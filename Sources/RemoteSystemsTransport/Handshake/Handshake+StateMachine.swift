// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The caller's part of the handshake, from TLS to an open connection.
struct CallerHandshake {
    private let hello: Hello
    private let expected: SystemID?
    private var peer: PeerIdentity?

    init(hello: Hello, expecting system: SystemID?) {
        self.hello = hello
        self.expected = system
    }

    /// What the caller does after the TLS handshake.
    enum OnSecured {
        case send(Hello)
        /// Send the refusal to the host, and fail.
        case refuse(Refusal, TransportError)
    }

    mutating func secured(alpn: String?, peer: Result<PeerIdentity, TransportError>) -> OnSecured {
        switch peer {
        case .failure(let error):
            return .refuse(
                Refusal(.notAuthorized, "The caller does not trust this system. \(error.messageToPeer)", codeOf: error),
                error
            )
        case .success(let peer):
            if let expected = self.expected, expected != peer.systemID {
                let text =
                    "Another system was reached: \(peer.systemID.short) instead of \(expected.short). The address may "
                    + "have been assigned to another machine; look it up again."
                let error = TransportError(.peerNotTrusted, text, side: .network, canRetry: true)
                let refusal = Refusal(
                    .remoteSystemUnavailable,
                    code: .otherSystem,
                    "The caller meant another system."
                )
                return .refuse(refusal, error)
            }
            guard alpn == ProtocolVersion.alpn else {
                let error = TransportError.noCommonProtocol(chosen: alpn)
                return .refuse(Refusal(.unknown, error.message, codeOf: error), error)
            }
            self.peer = peer
            return .send(self.hello)
        }
    }

    /// What the caller does after a frame of the host.
    enum OnFrame {
        case open(PeerIdentity, Acceptance)
        case fail(TransportError)
    }

    func received(_ frame: Frame) -> OnFrame {
        switch frame {
        case .accept(let acceptance):
            guard let peer = self.peer else {
                return .fail(.violation("a response came before the hello", .frameUnexpected))
            }
            guard acceptance.version.major == ProtocolVersion.current.major else {
                return .fail(.incompatible(what: "version \(acceptance.version)"))
            }
            return .open(peer, acceptance)
        case .refuse(let status, let failure):
            let text = failure.text.isEmpty ? "The other system refused the connection." : failure.text
            var error = TransportError(
                .refused,
                text,
                side: .remote,
                canRetry: failure.canRetry,
                // Success is no valid status of a refusal.
                openStatus: status == .success ? .unknown : status,
                redirect: failure.port,
                peer: self.peer?.systemID,
                failureCode: failure.code
            )
            error.peerStanding = self.peer?.standing.kind
            if case .linked(let account, _)? = self.peer?.standing, let notice = failure.withdrawal {
                error.withdrawal = (account, notice)
            }
            return .fail(error)
        default:
            return .fail(.violation("something other than a response to the hello came", .frameUnexpected))
        }
    }
}

/// The host's part of the handshake, from TLS to an open connection.
struct HostHandshake {
    private enum State {
        case securing
        case awaitingHello(PeerIdentity)
        case deciding(PeerIdentity, Hello)
        case done
    }

    private var state = State.securing
    private let features: Set<String>

    /// Creates the host's part of a handshake.
    ///
    /// - Parameter features: the features that this side offers.
    init(features: Set<String> = ProtocolFeature.known) {
        self.features = features
    }

    /// What the host does after the TLS handshake.
    enum OnSecured {
        case awaitHello
        case refuse(Refusal)
    }

    mutating func secured(alpn: String?, peer: Result<PeerIdentity, TransportError>) -> OnSecured {
        switch peer {
        case .failure(let error):
            self.state = .done
            return .refuse(
                Refusal(.notAuthorized, "You are not authorised here. \(error.messageToPeer)", codeOf: error)
            )
        case .success(let peer):
            guard alpn == ProtocolVersion.alpn else {
                self.state = .done
                let error = TransportError.noCommonProtocol(chosen: alpn)
                return .refuse(Refusal(.unknown, error.message, codeOf: error))
            }
            self.state = .awaitingHello(peer)
            return .awaitHello
        }
    }

    /// What the host does after a frame of the caller.
    enum OnFrame {
        case decide(PeerIdentity, Hello)
        case refuse(Refusal)
        /// The caller refused the connection. Nothing is sent.
        case fail(TransportError)
    }

    mutating func received(_ frame: Frame) -> OnFrame {
        guard case .awaitingHello(let peer) = self.state, case .hello(let hello) = frame else {
            self.state = .done
            if case .refuse(let status, let failure) = frame {
                let error = TransportError(
                    .refused,
                    failure.text,
                    side: .local,
                    openStatus: status,
                    failureCode: failure.code
                )
                return .fail(error)
            }
            return .refuse(.outOfTurn)
        }
        guard hello.version.major == ProtocolVersion.current.major else {
            self.state = .done
            return .refuse(.incompatible(what: "version \(hello.version)"))
        }
        let missing = hello.requires.subtracting(self.features)
        guard missing.isEmpty else {
            self.state = .done
            return .refuse(.lacking(missing))
        }
        self.state = .deciding(peer, hello)
        return .decide(peer, hello)
    }

    /// Records that the application accepts. Returns the caller and its hello; `nil` if the handshake has ended
    /// meanwhile.
    mutating func accepted() -> (PeerIdentity, Hello)? {
        guard case .deciding(let peer, let hello) = self.state else { return nil }
        self.state = .done
        return (peer, hello)
    }
}

/// A host's refusal of a connection.
package struct Refusal: Error, Sendable, Hashable {
    package var status: OpenStatus
    package var failure: WireFailure

    package init(
        _ status: OpenStatus,
        code: FailureCode? = nil,
        _ text: String,
        canRetry: Bool = false,
        port: Int? = nil
    ) {
        self.status = status
        self.failure = WireFailure(text, code: code, canRetry: canRetry, port: port)
    }

    /// Creates a refusal with the failure code that the error has for the peer.
    init(_ status: OpenStatus, _ text: String, codeOf error: TransportError) {
        self.init(status, text)
        self.failure.code = error.failureCode
        self.failure.withdrawal = (error.cause as? TrustError)?.withdrawal?.bytes
    }

    static let outOfTurn = Refusal(
        .unknown,
        code: .frameUnexpected,
        "The protocol was broken: one hello, and nothing else, comes first."
    )

    /// The caller requires features that this side does not have.
    static func lacking(_ features: Set<String>) -> Refusal {
        Refusal(
            .unknown,
            code: .featureUnknown,
            "The caller requires features that this side does not have: \(features.sorted().joined(separator: ", ")). "
                + "Use the same version of RemoteSystems on both."
        )
    }

    static func incompatible(what: String) -> Refusal {
        let error = TransportError.incompatible(what: what)
        return Refusal(.unknown, error.message, codeOf: error)
    }
}

extension TransportError {
    /// TLS negotiated another application protocol (ALPN) than this side's, or none.
    static func noCommonProtocol(chosen alpn: String?) -> TransportError {
        TransportError(
            .incompatibleVersion,
            "This side offered the protocol \(ProtocolVersion.alpn), but the TLS handshake negotiated "
                + "\(alpn.map { String($0.prefix(64)) } ?? "none: the other side did not offer it"). Use the same "
                + "major version of RemoteSystems on both.",
            side: .remote,
            failureCode: FailureCode.protocolNotNegotiated.rawValue
        )
    }

    static func incompatible(what: String) -> TransportError {
        TransportError(
            .incompatibleVersion,
            "The other side supports \(what); this side supports version \(ProtocolVersion.current) "
                + "(\(ProtocolVersion.alpn)). Use the same major version of RemoteSystems on both.",
            side: .remote,
            failureCode: FailureCode.versionUnsupported.rawValue
        )
    }
}
