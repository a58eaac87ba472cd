// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Opens URIs that other systems of the account launch. Pass a provider to a ``RemoteSystemHost`` with
/// ``RemoteSystemHost/Options/launchURIProvider``.
public protocol LaunchURIProvider: Sendable {
    /// The schemes of the URIs that the provider opens, such as `player`. Case is ignored. The host publishes them, so
    /// that launchers choose this application.
    var supportedURISchemes: [String] { get }
    /// Whether the provider is also called for URIs of schemes that are not in ``supportedURISchemes``, to return a
    /// more precise reason. Defaults to `false`: the host responds with ``RemoteLaunchURIStatus/protocolUnavailable``.
    var judgesOtherSchemes: Bool { get }

    /// Opens a URI, or returns the reason why the URI was not opened.
    ///
    /// Return ``LaunchURIDecision/opened`` or ``LaunchURIDecision/opened(by:)`` only when the URI has been opened.
    /// Return ``LaunchURIDecision/unknown(_:)`` when this cannot be known. Return any other decision only when the URI
    /// has not been opened and will not be. The task is cancelled when the launcher stops waiting or disconnects: a
    /// provider should then not open the URI any more.
    ///
    /// - Throws: any error. The launcher learns only that it is unknown whether the URI was opened.
    func launchURI(_ request: LaunchURIRequest) async throws -> LaunchURIDecision
}

extension LaunchURIProvider {
    /// The default implementation, which returns `false`.
    public var judgesOtherSchemes: Bool { false }
}

/// A provider that calls a closure.
///
/// ```swift
/// options.launchURIProvider = LaunchURIHandler(schemes: ["player"]) { request in
///     await player.show(request.uri) ? .opened : .unavailable("There is no such album here.")
/// }
/// ```
public struct LaunchURIHandler: LaunchURIProvider {
    /// The schemes of the URIs that the provider opens, as they were given to the initializer.
    public let supportedURISchemes: [String]
    private let handler: @Sendable (LaunchURIRequest) async throws -> LaunchURIDecision

    /// Creates a provider that opens URIs of some schemes with a closure. URIs of other schemes do not reach it.
    ///
    /// - Parameters:
    ///   - schemes: the schemes, such as `player`, without a colon. Case is ignored. ``RemoteSystemHost/run()`` throws
    ///     ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` for a text that is not a scheme.
    ///   - handler: opens a URI, or returns the reason why it did not, as ``LaunchURIProvider/launchURI(_:)`` does. Its
    ///     task is cancelled when the launcher stops waiting or disconnects. When it throws an error, the launcher
    ///     learns only that it is unknown whether the URI was opened.
    public init(
        schemes: [String],
        handler: @escaping @Sendable (LaunchURIRequest) async throws -> LaunchURIDecision
    ) {
        self.supportedURISchemes = schemes
        self.handler = handler
    }

    /// Calls the closure.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws.
    public func launchURI(_ request: LaunchURIRequest) async throws -> LaunchURIDecision {
        try await self.handler(request)
    }
}
