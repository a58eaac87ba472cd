// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// A URI that another system wants opened here, for a ``LaunchURIProvider``.
public struct LaunchURIRequest: Sendable {
    /// What to open. It has been checked, and comes from another system all the same.
    public let uri: LaunchURI
    /// Whether it is the launcher's fallback, sent in place of another URI that could not be opened.
    public let isFallback: Bool
    /// What the launcher asked for beside it. The fallback is seen to by whoever calls the provider.
    public let options: RemoteLauncherOptions
    /// What the launcher sent along for the application; `nil` if nothing, and always with the fallback.
    public let inputData: ValueSet?
    /// Who sent it. Verified, before the first byte of the URI was looked at.
    public let caller: AppServiceCaller
    /// When the launcher stops waiting. The provider's task is cancelled then.
    public let deadline: ContinuousClock.Instant

    package init(
        uri: LaunchURI,
        isFallback: Bool,
        options: RemoteLauncherOptions,
        inputData: ValueSet?,
        caller: AppServiceCaller,
        deadline: ContinuousClock.Instant
    ) {
        self.uri = uri
        self.isFallback = isFallback
        self.options = options
        self.inputData = inputData
        self.caller = caller
        self.deadline = deadline
    }
}

/// What a ``LaunchURIProvider`` has done about a URI.
public struct LaunchURIDecision: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case opened(applicationID: String?)
        case notOpened(RemoteLaunchURIStatus, String, canRetry: Bool)
    }

    let kind: Kind

    /// The status that the launcher is told.
    public var status: RemoteLaunchURIStatus {
        switch self.kind {
        case .opened: .success
        case .notOpened(let status, _, _): status
        }
    }

    /// The sentence that the launcher is told; `nil` if it is open.
    public var reason: String? {
        switch self.kind {
        case .opened: nil
        case .notOpened(_, let reason, _): reason
        }
    }

    /// It is open.
    public static let opened = LaunchURIDecision(kind: .opened(applicationID: nil))

    /// It is open, in an application that the launcher is told the id of.
    public static func opened(by applicationID: String) -> LaunchURIDecision {
        LaunchURIDecision(kind: .opened(applicationID: applicationID))
    }

    /// It may not be opened, or somebody here said no (``RemoteLaunchURIStatus/deniedByRemoteSystem``). The launcher's
    /// fallback is not opened either.
    ///
    /// - Parameter reason: a sentence for the person who launched it; at most 512 bytes of it.
    public static func denied(_ reason: String) -> LaunchURIDecision {
        LaunchURIDecision(kind: .notOpened(.deniedByRemoteSystem, reason, canRetry: false))
    }

    /// It cannot be opened now, or never could (``RemoteLaunchURIStatus/appUnavailable``).
    ///
    /// - Parameters:
    ///   - reason: a sentence for the person who launched it; at most 512 bytes of it.
    ///   - canRetry: whether the same URI may be opened later.
    public static func unavailable(_ reason: String, canRetry: Bool = false) -> LaunchURIDecision {
        LaunchURIDecision(kind: .notOpened(.appUnavailable, reason, canRetry: canRetry))
    }

    /// Nothing here opens URIs of this scheme (``RemoteLaunchURIStatus/protocolUnavailable``).
    ///
    /// - Parameter reason: a sentence for the person who launched it; at most 512 bytes of it.
    public static func unsupported(_ reason: String) -> LaunchURIDecision {
        LaunchURIDecision(kind: .notOpened(.protocolUnavailable, reason, canRetry: false))
    }

    /// It was tried, and nobody can tell whether it was opened (``RemoteLaunchURIStatus/unknown``).
    ///
    /// - Parameter reason: a sentence for the person who launched it; at most 512 bytes of it.
    public static func unknown(_ reason: String) -> LaunchURIDecision {
        LaunchURIDecision(kind: .notOpened(.unknown, reason, canRetry: true))
    }
}
