// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The renewal of a system's certificate, over the system's presence connection to a system with the account's root key
/// (`Docs/wire/presence.md`).
enum CertificateRenewal {
    static let renew = BuiltInMethod<Request, Renewed>("renew")

    struct Request: BuiltInMessage {
        /// A certificate request (PKCS #10) in DER.
        var request: Data

        private enum CodingKeys: String, CodingKey { case request = "Request" }
    }

    struct Renewed: BuiltInMessage {
        /// The new certificate in DER.
        var certificate: Data

        private enum CodingKeys: String, CodingKey { case certificate = "Certificate" }
    }

    /// Returns the service that renews certificates with the account's root key, if the key is on this machine.
    static func service(_ context: ApplicationContext) -> BuiltInService {
        BuiltInService(
            Presence.service,
            handlers: [
                Self.renew.handler { message, caller async throws(WireFailure) in
                    try await Self.renew(message.request, for: caller.connection.peer, with: context)
                }
            ]
        )
    }

    private static func renew(
        _ request: Data,
        for peer: PeerIdentity,
        with context: ApplicationContext
    ) async throws(WireFailure) -> Renewed {
        do {
            let store = try context.account.store()
            // Reading the key file and signing block, so they run on the account's queue.
            let certificate = try await context.account.accountQueue.run {
                try store.authority().renew(Array(request), for: peer, now: Date())
            }
            return Renewed(certificate: Data(certificate))
        } catch {
            context.logger.notice("A certificate was not renewed", metadata: ["reason": "\(error)"])
            // The error's message may name files of this machine, so the peer gets only its code.
            let code = (error as? IdentityError).map { " (\($0.code))" } ?? ""
            throw WireFailure("The certificate was not renewed\(code).", code: .renewalRefused)
        }
    }
}
