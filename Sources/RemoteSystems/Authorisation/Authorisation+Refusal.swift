// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

extension Authorisation {
    /// The refusal that a peer receives.
    ///
    /// A peer of another account, linked or not, gets the same refusal for every reason, so that it does not learn what
    /// exists here.
    ///
    /// - Parameter services: the services of the application that was asked. The refusal names those that the caller
    ///   may call.
    func refusal(
        of subject: Subject,
        _ target: Target,
        for reason: Reason,
        services: [(name: String, offer: ServiceOffer)] = []
    ) -> Refusal {
        guard case .sameAccount = subject.standing, case .service(let name, let offer) = target else {
            return AnonymousConnections.refusal
        }
        let application = offer?.application ?? services.first?.offer.application ?? self.host
        switch reason {
        case .unknownService:
            let callable = services.filter { self.decide(subject, .service($0.name, $0.offer)) == .allowed }
            return Refusal(noService: name, in: application, callable: callable.map(\.name))
        case .callerNotLocal:
            return Refusal(
                .remoteSystemNotSupportedByApp,
                code: .callerNotLocal,
                "The application \(application) offers the service \(name) only to programs on the same system."
            )
        case .callerNotListed:
            let caller = subject.application.isEmpty ? "that gives no id" : subject.application
            return Refusal(
                .remoteSystemNotSupportedByApp,
                code: .callerNotListed,
                "The application \(application) does not offer the service \(name) to the application "
                    + "\(caller). Its owner decides which may call it."
            )
        case .otherAccount, .notGranted:
            return AnonymousConnections.refusal
        }
    }
}
