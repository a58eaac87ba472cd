// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// How two systems agree on who was revoked: each shows the other its list, and the newer one stays
/// (`Docs/wire/revocation.md`). Who passes a list on does not matter, since the account's key signed it.
extension AccountContext {
    static let revokedType = "revoked"

    /// The watcher's side: shows the list to a host that has another one, and takes that if it is newer.
    func exchangeRevocations(over connection: Connection) async {
        var message: ValueSet = ["Type": .string(Self.revokedType)]
        message["List"] = self.revocations.map { .data(Data($0.bytes)) }
        message["Roots"] = self.roots.map { .data(Data($0)) }
        let response: Response
        do {
            response = try await connection.send(message, timeout: .seconds(10))
        } catch {
            // It comes again with the next connection; this one may have ended because its system is on the list.
            self.logger.debug("A revocation list could not be shown", metadata: ["reason": "\(error)"])
            return
        }
        let (list, roots) = Self.parts(of: response.message)
        _ = await self.failure(taking: list, after: roots, from: connection.peer)
    }

    /// The host's side: answers with its own list unless the watcher has shown the very same.
    func exchangeRevocations(_ message: ValueSet, with peer: PeerIdentity) async -> Response {
        let (list, roots) = Self.parts(of: message)
        guard (message["List"] == nil) == (list == nil), (message["Roots"] == nil) == (roots == nil) else {
            return Response(
                status: .failure,
                failure: WireFailure("The revocation list or the root certificates are no data.", code: .requestInvalid)
            )
        }
        if let failure = await self.failure(taking: list, after: roots, from: peer) {
            return Response(status: .failure, failure: failure)
        }
        return Response(message: self.message(after: list, roots))
    }

    /// The list and the root certificates in a message, where they are data.
    private static func parts(of message: ValueSet) -> (list: [UInt8]?, roots: [UInt8]?) {
        (message["List"]?.data.map { Array($0) }, message["Roots"]?.data.map { Array($0) })
    }

    /// What the peer that has shown these does not have.
    private func message(after list: [UInt8]?, _ roots: [UInt8]?) -> ValueSet {
        var message: ValueSet = [:]
        if let own = self.revocations, own.bytes != list { message["List"] = .data(Data(own.bytes)) }
        if let own = self.roots, own != roots { message["Roots"] = .data(Data(own)) }
        return message
    }

    /// Takes what a peer has shown into use, if it is newer.
    ///
    /// - Returns: The failure that the peer receives if it is refused.
    private func failure(
        taking list: [UInt8]?,
        after roots: [UInt8]?,
        from peer: PeerIdentity
    ) async -> WireFailure? {
        do {
            if let roots { try self.take(roots: roots) }
            if let list { try await self.take(revocations: list) }
            return nil
        } catch {
            self.refused(RemoteSystemError(error), from: peer)
            return Self.failure(of: error)
        }
    }

    /// The certificates of the account's root keys, which a list may need to be judged; `nil` if the first key was
    /// never replaced.
    private var roots: [UInt8]? {
        guard let roots = try? self.security().trust.own.roots, roots.count > 1 else { return nil }
        return roots.bytes
    }

    /// Takes root keys into use that another system has shown, if they follow on the known ones.
    private func take(roots bytes: [UInt8]) throws {
        guard bytes != self.roots else { return }
        try self.security().learn(roots: RootChain(bytes))
    }

    /// The failure that the peer receives. An error about this machine's files names their paths, so it is not sent.
    private static func failure(of error: any Error) -> WireFailure {
        if let error = error as? TrustError { return WireFailure(error.message, code: .revocationListInvalid) }
        if RemoteSystemError(error).canRetry {
            return WireFailure("The host's account is busy. Try again.", code: .busy, canRetry: true)
        }
        return WireFailure("The host could not keep the revocation list.", code: .hostFailed)
    }

    private func refused(_ error: RemoteSystemError, from peer: PeerIdentity) {
        self.logger.notice(
            "A revocation list was not taken",
            metadata: ["system": "\(peer.systemID.short)", "reason": "\(error)"]
        )
    }
}
