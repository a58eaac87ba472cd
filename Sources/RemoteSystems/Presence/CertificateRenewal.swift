// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

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

    /// Returns the service that renews certificates with the account's root key, if the key is on this machine. A
    /// system of another account gets the response of a peer that renews none.
    static func service(_ context: ApplicationContext) -> BuiltInService {
        BuiltInService(
            Presence.service,
            handlers: [
                Self.renew.handler { message, caller async throws(WireFailure) in
                    try await Self.renew(message.request, for: caller.connection, with: context)
                }
            ]
        ) { connection throws(WireFailure) in try Self.authorize(connection, with: context) }
    }

    private static func authorize(_ connection: Connection, with context: ApplicationContext) throws(WireFailure) {
        let authorisation = Authorisation(host: context.configuration.applicationID, allowsAnyoneNearby: false)
        guard let own = try? context.security().systemID else { throw .requestUnknown }
        let subject = Authorisation.Subject(connection.peer, application: connection.remote.application, own: own)
        let decision = authorisation.decide(subject, .renewal)
        context.audit(decision, about: subject, .renewal)
        guard case .allowed = decision else { throw .requestUnknown }
    }

    private static func renew(
        _ request: Data,
        for connection: Connection,
        with context: ApplicationContext
    ) async throws(WireFailure) -> Renewed {
        let peer = connection.peer
        do {
            let account = context.account
            let roots = try account.security().trust.own.roots.count
            let now = context.environment.time.now
            let kept = { @Sendable () throws(WireFailure) -> [UInt8]? in
                switch account.renewed.withLock({ $0.requested(by: peer.systemID, roots: roots, now: now) }) {
                case .respond(let certificate): certificate
                case .refuse: throw WireFailure.tooManyRenewals
                case .sign: nil
                }
            }
            if let certificate = try kept() { return Renewed(certificate: Data(certificate)) }
            let store = try account.store()
            // Reading the key file and signing block, so they run on the account's queue. It runs one at a time, so a
            // system that asks several times at once gets one certificate.
            let certificate = try await account.accountQueue.run(for: peer.quotaHolder) {
                if let certificate = try kept() { return certificate }
                let certificate = try store.authority().renew(Array(request), for: peer, now: Date())
                account.renewed.withLock { $0.signed(certificate, for: peer.systemID, roots: roots, now: now) }
                return certificate
            }
            return Renewed(certificate: Data(certificate))
        } catch let failure as WireFailure {
            context.incidents.report(.renewalRefused, by: connection.channel, reason: failure.text)
            throw failure
        } catch {
            context.incidents.report(.renewalRefused, by: connection.channel, reason: "\(error)")
            if RemoteSystemError(error).canRetry { throw WireFailure.filesBusy }
            // The error's message may name files of this machine, so the peer gets only its code.
            let code = (error as? IdentityError).map { " (\($0.code))" } ?? ""
            throw WireFailure("The certificate was not renewed\(code).", code: .renewalRefused)
        }
    }
}

extension WireFailure {
    fileprivate static let tooManyRenewals = WireFailure(
        "This host has renewed as many certificates as it does in ten minutes. Try again later.",
        code: .busy,
        canRetry: true
    )
    fileprivate static let filesBusy = WireFailure(
        "The files of this host's account are in use, or too many changes of it wait. Try again later.",
        code: .busy,
        canRetry: true
    )
}
