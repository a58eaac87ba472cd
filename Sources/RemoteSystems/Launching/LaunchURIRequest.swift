// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// A request of another system to open a URI, for a ``LaunchURIProvider``.
public struct LaunchURIRequest: Sendable {
    /// The URI to open. Only its syntax was checked: treat it as untrusted input.
    public let uri: LaunchURI
    /// Whether the URI is the launcher's fallback, sent in place of another URI that could not be opened.
    public let isFallback: Bool
    /// The launcher's options. The provider need not open the fallback: the host sends it as a separate request
    /// (``isFallback``).
    public let options: RemoteLauncherOptions
    /// Data for the application. `nil` if the launcher sent none, or if the URI is the fallback.
    public let inputData: ValueSet?
    /// The peer that sent the request. Its system was authenticated before the URI was read. Its application id is only
    /// a claim.
    public let caller: AppServiceCaller
    /// The time at which the launcher stops waiting. The provider's task is then cancelled.
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

/// The decision of a ``LaunchURIProvider`` about a URI.
public struct LaunchURIDecision: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case opened(applicationID: String?)
        case notOpened(RemoteLaunchURIStatus, String, canRetry: Bool)
    }

    let kind: Kind

    /// The status that the launcher receives.
    public var status: RemoteLaunchURIStatus {
        switch self.kind {
        case .opened: .success
        case .notOpened(let status, _, _): status
        }
    }

    /// The application that opened the URI; `nil` if it is unknown or the URI was not opened.
    package var applicationID: String? {
        switch self.kind {
        case .opened(let applicationID): applicationID
        case .notOpened: nil
        }
    }

    /// The reason that the launcher receives, as a sentence; `nil` if the URI was opened.
    public var reason: String? {
        switch self.kind {
        case .opened: nil
        case .notOpened(_, let reason, _): reason
        }
    }

    /// The URI was opened.
    public static let opened = LaunchURIDecision(kind: .opened(applicationID: nil))

    /// The URI was opened in an application, whose id the launcher receives.
    public static func opened(by applicationID: String) -> LaunchURIDecision {
        LaunchURIDecision(kind: .opened(applicationID: applicationID))
    }

    /// The URI must not be opened, or a user has denied it (``RemoteLaunchURIStatus/deniedByRemoteSystem``). The
    /// launcher's fallback is not opened either.
    ///
    /// - Parameter reason: a sentence for the person who launched the URI. Truncated to 512 bytes.
    public static func denied(_ reason: String) -> LaunchURIDecision {
        LaunchURIDecision(kind: .notOpened(.deniedByRemoteSystem, reason, canRetry: false))
    }

    /// The URI cannot be opened now, or cannot be opened at all (``RemoteLaunchURIStatus/appUnavailable``).
    ///
    /// - Parameters:
    ///   - reason: a sentence for the person who launched the URI. Truncated to 512 bytes.
    ///   - canRetry: whether the same URI may be opened later. Defaults to `false`.
    public static func unavailable(_ reason: String, canRetry: Bool = false) -> LaunchURIDecision {
        LaunchURIDecision(kind: .notOpened(.appUnavailable, reason, canRetry: canRetry))
    }

    /// No application on this system opens URIs of this scheme (``RemoteLaunchURIStatus/protocolUnavailable``).
    ///
    /// - Parameter reason: a sentence for the person who launched the URI. Truncated to 512 bytes.
    public static func unsupported(_ reason: String) -> LaunchURIDecision {
        LaunchURIDecision(kind: .notOpened(.protocolUnavailable, reason, canRetry: false))
    }

    /// It is unknown whether the URI was opened (``RemoteLaunchURIStatus/unknown``).
    ///
    /// - Parameter reason: a sentence for the person who launched the URI. Truncated to 512 bytes.
    public static func unknown(_ reason: String) -> LaunchURIDecision {
        LaunchURIDecision(kind: .notOpened(.unknown, reason, canRetry: true))
    }
}
