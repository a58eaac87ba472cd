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
/// A launch that is reported as failed has opened nothing, and one that is reported as a success has. Where that cannot be
/// known, because the connection was lost while the answer was awaited, the status is ``RemoteLaunchURIStatus/unknown``.
public struct RemoteLauncher: Sendable {
    /// The most bytes that input data may take, encoded.
    public static let maxInputBytes = 64 << 10

    /// Creates a launcher. It holds nothing: one is as good as another.
    public init() {}

    /// Opens a URI on another system.
    ///
    /// With a system, these are asked one after the other until one opens it: the preferred applications that take its
    /// scheme, the system's host daemon if it opens the scheme, an application there that takes it, and then the host daemon in
    /// any case, which says why not. With an application, or an address, that one alone.
    ///
    /// - Parameters:
    ///   - uri: an absolute URI, see ``LaunchURI``. It can carry where the application should take up, such as a place in a
    ///     film.
    ///   - request: what to open it with: ``RemoteSystemConnectionRequest/system(_:)`` or
    ///     ``RemoteSystemConnectionRequest/application(_:)``.
    ///   - options: what to open if it cannot be, and which applications should.
    ///   - inputData: more for the application that opens it; at most ``maxInputBytes``. Only applications that embed a
    ///     ``RemoteSystemHost`` can be given it: a machine's other handlers refuse a launch with input data. It does not
    ///     go with the fallback.
    ///   - timeout: how long to wait for each answer, and before it for an application over there to start; the configuration's
    ///     request timeout and start timeout unless given. Somebody over there may have to be asked.
    ///     Valid range: 0–24 h.
    /// - Returns: how it ended.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when a URI is none, with
    ///   ``RemoteSystemError/Code/invalidArgument`` when the timeout, the port or the id of a preferred application is not valid, with
    ///   ``RemoteSystemError/Code/invalidMessage`` when the input data cannot be sent, and when this system's own identity
    ///   cannot be used; `CancellationError`: whether it was opened is unknown then.
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
            options.preferredApplicationIDs.filter { (1...Launch.maxApplicationIDBytes).contains($0.utf8.count) }
                .prefix(Launch.maxApplications)
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
        "The input data is larger than \(Self.maxInputBytes) bytes, the most that goes with a URI."
}

extension RemoteLaunchURIResult {
    fileprivate static let tooLarge = RemoteLaunchURIResult(
        status: .valueSetTooLarge,
        error: RemoteSystemError(.messageTooLarge, RemoteLauncher.tooLargeText, side: .local)
    )
}

extension RemoteSystemConnectionRequest {
    /// A system: whichever application on it is right.
    public static func system(_ system: RemoteSystem) -> RemoteSystemConnectionRequest {
        RemoteSystemConnectionRequest(system: system)
    }

    /// One application.
    public static func application(_ application: RemoteSystemApplication) -> RemoteSystemConnectionRequest {
        RemoteSystemConnectionRequest(application: application)
    }
}
