// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport
public import ValueSets

/// Opens URIs on other systems.
///
/// ```swift
/// let result = try await RemoteLauncher().launchURI(
///     "player:album/42",
///     with: .system(livingRoom),
///     options: RemoteLauncherOptions(fallbackURI: "https://example.com/album/42")
/// )
/// guard result.status == .success else { … result.error … }
/// ```
///
/// A launch that is reported as failed has opened nothing, and one that is reported as successful has opened a URI.
/// Where this cannot be known, because the connection was lost before the response arrived, the status is
/// ``RemoteLaunchURIStatus/unknown``.
public struct RemoteLauncher: Sendable {
    /// The maximum size of encoded input data, in bytes.
    public static let maxInputBytes = 64 << 10

    /// Creates a launcher. A launcher has no state.
    public init() {}

    /// Opens a URI on another system.
    ///
    /// With a system as the target, these applications are asked one after the other until one opens the URI: the
    /// preferred applications that open its scheme, the system's host daemon if it opens the scheme, another
    /// application that opens it, and in any case the host daemon, which returns the reason why it does not. With an
    /// application or an address as the target, only that application is asked.
    ///
    /// - Parameters:
    ///   - uri: an absolute URI, see ``LaunchURI``. It can contain the place at which the application should continue,
    ///     such as a position in a film.
    ///   - request: the target: ``RemoteSystemConnectionRequest/system(_:)``,
    ///     ``RemoteSystemConnectionRequest/application(_:)``, or an address.
    ///   - options: the fallback, and the preferred applications.
    ///   - inputData: data for the application that opens the URI. At most ``maxInputBytes``. Only applications with a
    ///     ``RemoteSystemHost`` of their own can receive it: other handlers refuse a launch with input data. It is not
    ///     sent with the fallback.
    ///   - timeout: the maximum time to wait for each response, and before it for an application to start. Defaults to
    ///     the configuration's request timeout and start timeout. Allow for the time in which the other system may ask
    ///     its user. Valid range: 0–24 h.
    /// - Returns: the status, and the error if no URI was opened.
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/misuse`` when a URI is not valid,
    ///   ``RemoteSystemError/Code/invalidArgument`` when the timeout, the port or the id of a preferred application is
    ///   not valid, ``RemoteSystemError/Code/invalidMessage`` when the input data cannot be encoded,
    ///   ``RemoteSystemError/Code/identity`` when this system's identity cannot be used; `CancellationError`, after
    ///   which it is unknown whether the URI was opened.
    public func launchURI(
        _ uri: String,
        with request: RemoteSystemConnectionRequest,
        options: RemoteLauncherOptions = RemoteLauncherOptions(),
        inputData: ValueSet? = nil,
        timeout: Duration? = nil
    ) async throws -> RemoteLaunchURIResult {
        try ArgumentCheck.check("timeout", timeout, in: .requestTimeouts)
        try request.validate()
        for id in options.preferredApplicationIDs { try ArgumentCheck.check(name: id, "The application id") }
        let uri = try LaunchURI(uri)
        let fallback = try options.fallbackURI.map(Self.fallback)
        if let inputData {
            let size: Int
            do {
                size = try inputData.encoded().count
            } catch {
                throw RemoteSystemError(error)
            }
            guard size <= Self.maxInputBytes else { return .tooLarge }
        }
        let preferred = Array(
            options.preferredApplicationIDs.filter(Launch.isApplicationID).prefix(Launch.maxApplications)
        )
        let isLimited = options.requiresPreferredApplication
        let run = LaunchRun(origin: request.origin, timeout: timeout)
        var both = LaunchMessage(uri: uri, fallback: fallback, applications: preferred, input: inputData)
        both.isLimited = isLimited
        let target: RemoteSystemConnectionRequest.Target
        do {
            target = try await request.located().target
        } catch let unresolved as RemoteSystemConnectionRequest.Unresolved {
            let isThere = unresolved.status != .remoteSystemUnavailable
            return RemoteLaunchURIResult(
                status: isThere ? .appUnavailable : .remoteSystemUnavailable,
                error: unresolved.error
            )
        }
        switch target {
        case .address(let endpoint, let systemID):
            return try await run.ask([endpoint], systemID, nil, both)
        case .application(let application):
            return try await run.ask(application, both)
        case .token(let token):
            return try await run.ask(token.endpoints, token.systemID, token.applicationID, both)
        case .system(let system):
            let plan = LaunchPlan(
                uri: uri.scheme,
                fallback: fallback?.scheme,
                preferred: preferred,
                isLimited: isLimited,
                applications: system.applications
            )
            return try await run.follow(plan, both, on: system)
        }
    }

    private static func fallback(_ text: String) throws(RemoteSystemError) -> LaunchURI {
        do {
            return try LaunchURI(text)
        } catch {
            throw RemoteSystemError(.misuse, "The fallback cannot be used: \(error.message)", side: .local)
        }
    }

    static func isTooLarge(_ input: ValueSet) -> Bool {
        ((try? input.encoded().count) ?? .max) > Self.maxInputBytes
    }

    static let tooLargeText =
        "The input data is larger than \(Self.maxInputBytes) bytes, the maximum for a launch."
}

extension RemoteLaunchURIResult {
    fileprivate static let tooLarge = RemoteLaunchURIResult(
        status: .valueSetTooLarge,
        error: RemoteSystemError(.messageTooLarge, RemoteLauncher.tooLargeText, side: .local)
    )
}

extension RemoteSystemConnectionRequest {
    /// Requests a connection to a system, and to whichever of its applications is suitable.
    public static func system(_ system: RemoteSystem) -> RemoteSystemConnectionRequest {
        RemoteSystemConnectionRequest(system: system)
    }

    /// Requests a connection to one application.
    public static func application(_ application: RemoteSystemApplication) -> RemoteSystemConnectionRequest {
        RemoteSystemConnectionRequest(application: application)
    }
}
