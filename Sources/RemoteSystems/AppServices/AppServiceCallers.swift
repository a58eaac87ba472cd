// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Who may call an app service.
///
/// Which *system* calls is proved by its certificate. Which *application* on it calls is only said by the caller: the two
/// cases about applications keep those of one's own systems apart that mean well, and are no defence against one that does
/// not.
public struct AppServiceCallers: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        case sameApplication, account, anyoneNearby
        case applications([String])
    }

    private let kind: Kind

    /// The application that offers the service, on this or another system of the account.
    public static let sameApplication = AppServiceCallers(kind: .sameApplication)
    /// The applications with these ids, on this or another system of the account.
    public static func applications(_ ids: [String]) -> AppServiceCallers {
        AppServiceCallers(kind: .applications(ids))
    }
    /// Every application on every system of the account. What holds unless set.
    public static let account = AppServiceCallers(kind: .account)
    /// Whoever is near, of other accounts too, on a host that allows it
    /// (``RemoteSystemHost/Options/allowsAnyoneNearby``); on others the account alone.
    public static let anyoneNearby = AppServiceCallers(kind: .anyoneNearby)

    /// The ids that were named one by one.
    var applicationIDs: [String] {
        if case .applications(let ids) = self.kind { ids } else { [] }
    }

    /// Whether the application with this id, as it says, is one of them.
    ///
    /// - Parameter host: the application that offers the service.
    func include(_ application: String, of host: String) -> Bool {
        switch self.kind {
        case .sameApplication: application == host
        case .applications(let ids): ids.contains(application)
        case .account, .anyoneNearby: true
        }
    }
}

extension AppService {
    /// Whether systems of other accounts may call it where the host allows that.
    var isForAnyone: Bool { self.callers == .anyoneNearby && self.supportsRemote }

    /// Why a caller may not have the service; `nil` if it may. Decided before the service sees anything of the caller.
    ///
    /// - Parameters:
    ///   - application: the caller's application, as it says.
    ///   - host: the application that offers the service.
    func refusal(application: String, isLocal: Bool, host: String) -> Refusal? {
        guard self.supportsRemote || isLocal else {
            return Refusal(
                .remoteSystemNotSupportedByApp,
                code: .callerNotLocal,
                "The application \(host) offers the service \(self.name) only to programs on the same system."
            )
        }
        guard self.callers.include(application, of: host) else {
            return Refusal(
                .remoteSystemNotSupportedByApp,
                code: .callerNotListed,
                "The application \(host) does not offer the service \(self.name) to the application "
                    + "\(application.isEmpty ? "that does not say its id" : application). Its owner decides to which."
            )
        }
        return nil
    }
}
