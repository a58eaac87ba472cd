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
        let response: Response
        do {
            response = try await connection.send(message, timeout: .seconds(10))
        } catch {
            // It comes again with the next connection; this one may have ended because its system is on the list.
            self.logger.debug("A revocation list could not be shown", metadata: ["reason": "\(error)"])
            return
        }
        guard let list = response.message["List"]?.data else { return }
        do {
            try await self.take(revocations: Array(list))
        } catch {
            self.refused(RemoteSystemError(error), from: connection.peer)
        }
    }

    /// The host's side: answers with its own list unless the watcher has shown the very same.
    func exchangeRevocations(_ message: ValueSet, with peer: PeerIdentity) async -> Response {
        let list = message["List"]
        guard list == nil || list?.data != nil else {
            return Response(
                status: .failure,
                failure: WireFailure("The revocation list is no data.", code: .requestInvalid)
            )
        }
        let theirs = list?.data.map { Array($0) }
        if let theirs {
            do {
                try await self.take(revocations: theirs)
            } catch {
                self.refused(RemoteSystemError(error), from: peer)
                return Response(status: .failure, failure: Self.failure(of: error))
            }
        }
        guard let own = self.revocations, own.bytes != theirs else { return Response() }
        return Response(message: ["List": .data(Data(own.bytes))])
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
