// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

private let alice = PeerIdentity(.sameAccount(.example), systemID: .example(1), expiry: .distantFuture)
private let limits = PeerLimits(messageBytes: 1024, window: 1, windowBytes: 1024)
private let hello = Hello(service: "s", targetApplication: nil, application: "a", limits: limits)
private let untrusted = TransportError(.peerNotTrusted, "Its certificate expired.", side: .remote)

@Suite struct CallerHandshakeTests {
    @Test func `the hello is sent once the host is authenticated, and its acceptance opens the connection`() {
        var handshake = CallerHandshake(hello: hello, expecting: alice.systemID)
        guard case .send(hello) = handshake.secured(alpn: "remote-systems/1", peer: .success(alice)) else {
            Issue.record("no hello")
            return
        }
        let acceptance = Acceptance(application: "b", limits: limits)
        guard case .open(alice, acceptance) = handshake.received(.accept(acceptance)) else {
            Issue.record("it is not open")
            return
        }
    }

    @Test func `a host that is not trusted gets the reason and no hello`() {
        var handshake = CallerHandshake(hello: hello, expecting: nil)
        guard
            case .refuse(let refusal, let error) = handshake.secured(
                alpn: "remote-systems/1",
                peer: .failure(untrusted)
            )
        else {
            Issue.record("it went on")
            return
        }
        #expect(refusal.status == .notAuthorized)
        #expect(refusal.failure.text.contains("expired"))
        #expect(error.code == .peerNotTrusted)
    }

    @Test func `a system other than the expected one is a different error, even within the account`() {
        var handshake = CallerHandshake(hello: hello, expecting: .example(2))
        guard case .refuse(_, let error) = handshake.secured(alpn: "remote-systems/1", peer: .success(alice)) else {
            Issue.record("it went on")
            return
        }
        #expect(error.code == .peerNotTrusted)
        #expect(error.canRetry)
        #expect(error.message.contains(SystemID.example(2).short))
    }

    @Test(arguments: [nil, "h2", "remote-systems/2"])
    func `another protocol is an incompatible version`(alpn: String?) {
        var handshake = CallerHandshake(hello: hello, expecting: nil)
        guard case .refuse(_, let error) = handshake.secured(alpn: alpn, peer: .success(alice)) else {
            Issue.record("it went on")
            return
        }
        #expect(error.code == .incompatibleVersion)
        #expect(error.message.contains("remote-systems/1") && error.message.contains(alpn ?? "none"))
        #expect(!error.message.contains("unknown"))
    }

    @Test func `a refusal's status, text and retry advice reach the caller`() {
        var handshake = CallerHandshake(hello: hello, expecting: nil)
        _ = handshake.secured(alpn: "remote-systems/1", peer: .success(alice))
        let refusal = Frame.refuse(OpenStatus(rawValue: 99), WireFailure("Full.", canRetry: true))
        guard case .fail(let error) = handshake.received(refusal) else {
            Issue.record("it went on")
            return
        }
        #expect(error.code == .refused)
        #expect(error.openStatus == OpenStatus(rawValue: 99))
        #expect(error.message == "Full.")
        #expect(error.canRetry)
    }

    @Test func `an acceptance of another major version is incompatible, of another minor one it is not`() {
        var handshake = CallerHandshake(hello: hello, expecting: nil)
        _ = handshake.secured(alpn: "remote-systems/1", peer: .success(alice))
        var acceptance = Acceptance(application: "b", limits: limits)
        acceptance.version = ProtocolVersion(major: 1, minor: 9)
        guard case .open = handshake.received(.accept(acceptance)) else {
            Issue.record("it is not open")
            return
        }
        acceptance.version.major = 2
        guard case .fail(let error) = handshake.received(.accept(acceptance)) else {
            Issue.record("it is open")
            return
        }
        #expect(error.code == .incompatibleVersion)
        #expect(error.message.contains("2.9") && error.message.contains("1.0"))
    }

    @Test(arguments: [.hello(hello), .ping(token: 1), .unknown(kind: 99), .close(.completed, nil)] as [Frame])
    func `any other response to the hello breaks the protocol`(frame: Frame) {
        var handshake = CallerHandshake(hello: hello, expecting: nil)
        _ = handshake.secured(alpn: "remote-systems/1", peer: .success(alice))
        guard case .fail(let error) = handshake.received(frame) else {
            Issue.record("it went on")
            return
        }
        #expect(error.code == .protocolViolation)
    }

    @Test func `an acceptance before the hello breaks the protocol`() {
        let handshake = CallerHandshake(hello: hello, expecting: nil)
        guard case .fail = handshake.received(.accept(Acceptance(application: "", limits: limits))) else {
            Issue.record("it is open")
            return
        }
    }
}

@Suite struct HostHandshakeTests {
    private var handshake = HostHandshake()

    private mutating func secure() {
        guard case .awaitHello = self.handshake.secured(alpn: "remote-systems/1", peer: .success(alice)) else {
            Issue.record("the caller is trusted")
            return
        }
    }

    @Test mutating func `a trusted caller's hello is decided on, and then the connection is open`() {
        self.secure()
        guard case .decide(alice, hello) = self.handshake.received(.hello(hello)) else {
            Issue.record("it is not decided on")
            return
        }
        #expect(self.handshake.accepted()?.0 == alice)
        #expect(self.handshake.accepted() == nil)
    }

    @Test mutating func `an untrusted caller gets the reason, and its hello is not read`() {
        guard case .refuse(let refusal) = self.handshake.secured(alpn: "remote-systems/1", peer: .failure(untrusted))
        else {
            Issue.record("it is awaited")
            return
        }
        #expect(refusal.status == .notAuthorized)
        #expect(refusal.failure.text.contains("expired"))
        guard case .refuse = self.handshake.received(.hello(hello)) else {
            Issue.record("its hello was looked at")
            return
        }
    }

    @Test(arguments: [nil, "h2"]) func `another protocol is refused with both versions named`(alpn: String?) {
        var handshake = HostHandshake()
        guard case .refuse(let refusal) = handshake.secured(alpn: alpn, peer: .success(alice)) else {
            Issue.record("it is awaited")
            return
        }
        #expect(refusal.status == .unknown)
        #expect(refusal.failure.text.contains("remote-systems/1"))
    }

    @Test mutating func `another major version is refused with both versions named`() {
        self.secure()
        var newer = hello
        newer.version = ProtocolVersion(major: 2, minor: 3)
        guard case .refuse(let refusal) = self.handshake.received(.hello(newer)) else {
            Issue.record("it is decided on")
            return
        }
        #expect(refusal.status == .unknown)
        #expect(refusal.failure.text.contains("2.3") && refusal.failure.text.contains("1.0"))
    }

    @Test mutating func `another minor version is accepted`() {
        self.secure()
        var newer = hello
        newer.version.minor = 9
        guard case .decide = self.handshake.received(.hello(newer)) else {
            Issue.record("it is refused")
            return
        }
    }

    @Test(
        arguments: [
            (has: [], requires: ["a"]), (["a"], ["a", "b"]), (["a"], [""]), (["a"], ["a\u{1B}"]),
        ] as [(has: Set<String>, requires: Set<String>)]
    )
    func `a hello that requires an unknown feature is refused`(
        has: Set<String>,
        requires: Set<String>
    ) {
        var handshake = HostHandshake(features: has)
        _ = handshake.secured(alpn: "remote-systems/1", peer: .success(alice))
        var demanding = hello
        demanding.requires = requires
        guard case .refuse(let refusal) = handshake.received(.hello(demanding)) else {
            Issue.record("it is decided on")
            return
        }
        #expect(refusal.status == .unknown)
        #expect(refusal.failure.code == FailureCode.featureUnknown.rawValue)
        #expect(!refusal.failure.canRetry)
        #expect(handshake.accepted() == nil)
    }

    @Test func `a hello that requires known features, or lists unknown ones, is decided on`() {
        var handshake = HostHandshake(features: ["a", "b"])
        _ = handshake.secured(alpn: "remote-systems/1", peer: .success(alice))
        var demanding = hello
        demanding.requires = ["a"]
        demanding.features = ["a", "unheard-of"]
        guard case .decide = handshake.received(.hello(demanding)) else {
            Issue.record("it is refused")
            return
        }
    }

    @Test mutating func `a second hello is refused, and the first is not accepted any more`() {
        self.secure()
        _ = self.handshake.received(.hello(hello))
        guard case .refuse(.outOfTurn) = self.handshake.received(.hello(hello)) else {
            Issue.record("it is not refused")
            return
        }
        #expect(self.handshake.accepted() == nil)
    }

    @Test(arguments: [.request(id: 1, timeoutMilliseconds: 1, message: [:]), .unknown(kind: 99)] as [Frame])
    func `anything other than a hello is refused`(frame: Frame) {
        var test = self
        test.secure()
        guard case .refuse(.outOfTurn) = test.handshake.received(frame) else {
            Issue.record("it is not refused")
            return
        }
    }

    @Test mutating func `a caller that does not trust this host sends the reason, and gets no response`() {
        self.secure()
        guard case .fail(let error) = self.handshake.received(.refuse(.notAuthorized, WireFailure("It expired.")))
        else {
            Issue.record("it went on")
            return
        }
        #expect(error.message == "It expired.")
        #expect(error.side == .local)
    }
}

extension AccountID {
    static var example: AccountID { AccountID(KeyFingerprint.example(0)) }
}

extension SystemID {
    static func example(_ number: UInt8) -> SystemID { SystemID(KeyFingerprint.example(number)) }
}

extension KeyFingerprint {
    /// A fingerprint of no real key.
    fileprivate static func example(_ number: UInt8) -> KeyFingerprint {
        guard let fingerprint = KeyFingerprint(bytes: [UInt8](repeating: number, count: 32)) else {
            preconditionFailure("32 bytes make a fingerprint")
        }
        return fingerprint
    }
}
