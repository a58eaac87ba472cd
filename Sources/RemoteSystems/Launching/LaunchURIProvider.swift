// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Opens URIs that other systems of the account send. A ``RemoteSystemHost`` is given one with
/// ``RemoteSystemHost/Options/launchURIProvider``.
public protocol LaunchURIProvider: Sendable {
    /// The schemes of the URIs that it opens, such as `player`. Published, so that launchers choose it for them. Their
    /// case does not matter.
    var supportedURISchemes: [String] { get }
    /// Whether it is asked about URIs of other schemes too, so that it can say why it does not open them. By default it
    /// is not: the launcher is told ``RemoteLaunchURIStatus/protocolUnavailable``.
    var judgesOtherSchemes: Bool { get }

    /// Opens a URI, or says why not.
    ///
    /// Return ``LaunchURIDecision/opened(by:)`` only when it is open, and anything else only when it is certain that it is
    /// not and will not be. The task is cancelled when the launcher stops waiting or goes away: what is not open by then
    /// is better not opened any more.
    ///
    /// - Throws: whatever fails; the launcher learns only that it is unknown whether it was opened.
    func launchURI(_ request: LaunchURIRequest) async throws -> LaunchURIDecision
}

extension LaunchURIProvider {
    /// It is not.
    public var judgesOtherSchemes: Bool { false }
}

/// A provider made of a closure.
///
/// ```swift
/// options.launchURIProvider = LaunchURIHandler(schemes: ["player"]) { request in
///     await player.show(request.uri) ? .opened : .unavailable("There is no such album here.")
/// }
/// ```
public struct LaunchURIHandler: LaunchURIProvider {
    /// The schemes of the URIs that it opens.
    public let supportedURISchemes: [String]
    private let handler: @Sendable (LaunchURIRequest) async throws -> LaunchURIDecision

    /// A provider that opens URIs of these schemes with a closure.
    public init(
        schemes: [String],
        handler: @escaping @Sendable (LaunchURIRequest) async throws -> LaunchURIDecision
    ) {
        self.supportedURISchemes = schemes
        self.handler = handler
    }

    /// Calls the closure.
    public func launchURI(_ request: LaunchURIRequest) async throws -> LaunchURIDecision {
        try await self.handler(request)
    }
}
