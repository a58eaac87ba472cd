// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The callers that may use an app service. Other callers of the account are refused with
/// ``AppServiceConnectionStatus/remoteSystemNotSupportedByApp``, systems of other accounts with
/// ``AppServiceConnectionStatus/notAuthorized``.
///
/// Callers of a linked account are treated as callers of the account, for the services that are granted to them.
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

    /// Only the application that itself offers the service, on any system of the account.
    public static let sameApplication = AppServiceCallers(kind: .sameApplication)
    /// Only the applications with these ids, on any system of the account.
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
