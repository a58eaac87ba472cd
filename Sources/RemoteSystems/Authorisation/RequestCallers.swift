// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The callers of a service that may send one type of request. A service with requests for several kinds of callers has
/// one table of its types. Which callers it has at all was decided before, by ``Authorisation``.
package enum RequestCallers: Sendable, Hashable {
    /// All callers of the service.
    case all
    /// Systems of this account.
    case account
    /// The host daemons of this account's systems.
    case accountDaemons
    /// Programs of this system.
    case sameSystem

    /// Why a caller may not send the request; `nil` if it may.
    func refusal(of caller: AppServiceCaller) -> Authorisation.Reason? {
        let isOfAccount = caller.isLocal || caller.authorizationKind == .sameUser
        switch self {
        case .all: return nil
        case .account: return isOfAccount ? nil : .otherAccount
        case .accountDaemons:
            guard isOfAccount else { return .otherAccount }
            return caller.claimedApplicationID == RemoteSystemHost.machineApplicationID ? nil : .callerNotListed
        case .sameSystem: return caller.isLocal ? nil : .callerNotLocal
        }
    }
}
