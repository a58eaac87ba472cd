// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// How two systems agree on who was expelled: each shows the other its list, and the newer one stays
/// (`Docs/wire-protocol.md`, section 12). Who passes a list on does not matter, since the account's key signed it.
extension LocalSystem {
    static let expelledType = "expelled"

    /// The watcher's side: shows the list to a host that has another one, and takes that if it is newer.
    func exchangeExpulsions(over connection: Connection) async {
        var message: ValueSet = ["Type": .string(Self.expelledType)]
        message["List"] = self.expulsions.map { .data(Data($0.bytes)) }
        let reply: Reply
        do {
            reply = try await connection.send(message, timeout: .seconds(10))
        } catch {
            // It comes again with the next connection; this one may have ended because its system is on the list.
            self.logger.debug("A list of expelled systems could not be shown", metadata: ["reason": "\(error)"])
            return
        }
        guard let list = reply.message["List"]?.data else { return }
        do {
            try await self.take(expulsions: Array(list))
        } catch {
            self.refused(RemoteSystemError(error), from: connection.peer)
        }
    }

    /// The host's side: answers with its own list unless the watcher has shown the very same.
    func exchangeExpulsions(_ message: ValueSet, with peer: PeerIdentity) async -> Reply {
        let theirs = message["List"]?.data.map { Array($0) }
        if let theirs {
            do {
                try await self.take(expulsions: theirs)
            } catch {
                let error = RemoteSystemError(error)
                self.refused(error, from: peer)
                return Reply(status: .failure, failure: WireFailure(error.message, canRetry: error.canRetry))
            }
        }
        guard let own = self.expulsions, own.bytes != theirs else { return Reply() }
        return Reply(message: ["List": .data(Data(own.bytes))])
    }

    private func refused(_ error: RemoteSystemError, from peer: PeerIdentity) {
        self.logger.notice(
            "A list of expelled systems was not taken",
            metadata: ["system": "\(peer.systemID.short)", "reason": "\(error)"]
        )
    }
}
