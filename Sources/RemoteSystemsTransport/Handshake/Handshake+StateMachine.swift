// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The caller's way from a TLS handshake to an open connection.
struct CallerHandshake {
    private let hello: Hello
    private let expected: SystemID?
    private var peer: PeerIdentity?

    init(hello: Hello, expecting system: SystemID?) {
        self.hello = hello
        self.expected = system
    }

    enum OnSecured {
        case send(Hello)
        /// Tell the host, and give up.
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
                    "Another system answered than the one that was meant: \(peer.systemID.short) instead of "
                    + "\(expected.short). Its address may have been given to another machine; look it up again."
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

    enum OnFrame {
        case open(PeerIdentity, Acceptance)
        case fail(TransportError)
    }

    func received(_ frame: Frame) -> OnFrame {
        switch frame {
        case .accept(let acceptance):
            guard let peer = self.peer else {
                return .fail(.violation("an answer came before the hello", .frameUnexpected))
            }
            guard acceptance.version.major == ProtocolVersion.current.major else {
                return .fail(.incompatible(what: "version \(acceptance.version)"))
            }
            return .open(peer, acceptance)
        case .refuse(let status, let failure):
            let text = failure.text.isEmpty ? "The other system refused the connection." : failure.text
            return .fail(
                TransportError(
                    .refused,
                    text,
                    side: .remote,
                    canRetry: failure.canRetry,
                    // Success is nothing to refuse with.
                    openStatus: status == .success ? .unknown : status,
                    redirect: failure.port,
                    peer: self.peer?.systemID,
                    failureCode: failure.code
                )
            )
        default:
            return .fail(.violation("something other than an answer to the hello came", .frameUnexpected))
        }
    }
}

/// The host's way from a TLS handshake to an open connection.
struct HostHandshake {
    private enum State {
        case securing
        case awaitingHello(PeerIdentity)
        case deciding(PeerIdentity, Hello)
        case done
    }

    private var state = State.securing
    private let features: Set<String>

    /// - Parameter features: those that this side has.
    init(features: Set<String> = ProtocolFeature.known) {
        self.features = features
    }

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

    enum OnFrame {
        case decide(PeerIdentity, Hello)
        case refuse(Refusal)
        /// The caller does not want us: nothing to answer.
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

    /// The application took the connection. Returns the caller it is open to, `nil` if it has gone meanwhile.
    mutating func accepted() -> (PeerIdentity, Hello)? {
        guard case .deciding(let peer, let hello) = self.state else { return nil }
        self.state = .done
        return (peer, hello)
    }
}

/// Why a host does not take a connection.
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

    /// With the code that the error has for the peer.
    init(_ status: OpenStatus, _ text: String, codeOf error: TransportError) {
        self.init(status, text)
        self.failure.code = error.failureCode
    }

    static let outOfTurn = Refusal(
        .unknown,
        code: .frameUnexpected,
        "The protocol was broken: one hello, and nothing else, comes first."
    )

    /// The caller cannot do without features that this side does not have.
    static func lacking(_ features: Set<String>) -> Refusal {
        Refusal(
            .unknown,
            code: .featureUnknown,
            "The caller needs what this side does not have: \(features.sorted().joined(separator: ", ")). Bring both to the "
                + "same version of RemoteSystems."
        )
    }

    static func incompatible(what: String) -> Refusal {
        let error = TransportError.incompatible(what: what)
        return Refusal(.unknown, error.message, codeOf: error)
    }
}

extension TransportError {
    /// The handshake gave another application protocol (ALPN) than ours, or none.
    static func noCommonProtocol(chosen alpn: String?) -> TransportError {
        TransportError(
            .incompatibleVersion,
            "This side offered the protocol \(ProtocolVersion.alpn), and the TLS handshake came to "
                + "\(alpn.map { String($0.prefix(64)) } ?? "none: the other side did not offer it"). Bring both to the same "
                + "major version of RemoteSystems.",
            side: .remote,
            failureCode: FailureCode.protocolNotNegotiated.rawValue
        )
    }

    static func incompatible(what: String) -> TransportError {
        TransportError(
            .incompatibleVersion,
            "The other side speaks \(what); this one speaks version \(ProtocolVersion.current) "
                + "(\(ProtocolVersion.alpn)). Bring both to the same major version of RemoteSystems.",
            side: .remote,
            failureCode: FailureCode.versionUnsupported.rawValue
        )
    }
}
