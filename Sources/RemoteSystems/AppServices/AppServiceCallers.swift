// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// The callers that may use an app service. Other callers of the account are refused with
/// ``AppServiceConnectionStatus/remoteSystemNotSupportedByApp``, systems of other accounts with
/// ``AppServiceConnectionStatus/notAuthorized``.
///
/// The calling *system* is proved by its certificate. The calling *application* is only claimed by the caller.
/// ``sameApplication`` and ``applications(_:)`` therefore separate well-behaved applications of your own systems; they
/// are no defence against a malicious application.
public struct AppServiceCallers: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        case sameApplication, account, anyoneNearby
        case applications([String])
    }

    private let kind: Kind

    /// The application that offers the service, on any system of the account.
    public static let sameApplication = AppServiceCallers(kind: .sameApplication)
    /// The applications with these ids, on any system of the account.
    ///
    /// - Parameter ids: application ids in reverse-DNS form. With an id that is not valid, ``RemoteSystemHost/run()``
    ///   throws ``RemoteSystemError/Code/invalidArgument``.
    public static func applications(_ ids: [String]) -> AppServiceCallers {
        AppServiceCallers(kind: .applications(ids))
    }
    /// Every application on every system of the account. The default.
    public static let account = AppServiceCallers(kind: .account)
    /// Every system nearby, including systems of other accounts.
    ///
    /// Systems of other accounts are permitted only on a host that allows them
    /// (``RemoteSystemHost/Options/allowsAnyoneNearby``). On other hosts, this value has the same effect as
    /// ``account``.
    public static let anyoneNearby = AppServiceCallers(kind: .anyoneNearby)

    /// The ids that were listed explicitly.
    var applicationIDs: [String] {
        if case .applications(let ids) = self.kind { ids } else { [] }
    }

    /// Returns whether the application with this claimed id is a permitted caller.
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
    /// Whether systems of other accounts may call the service on a host that allows it.
    var isForAnyone: Bool { self.callers == .anyoneNearby && self.supportsRemote }

    /// Returns why the caller may not use the service; `nil` if it may. Runs before the service receives anything from
    /// the caller.
    ///
    /// - Parameters:
    ///   - application: the id that the caller claims for its application.
    ///   - isLocal: whether the caller runs on the same system.
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
                    + "\(application.isEmpty ? "that gives no id" : application). Its owner decides which may call it."
            )
        }
        return nil
    }
}
