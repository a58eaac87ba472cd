// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Options of a launch.
public struct RemoteLauncherOptions: Sendable, Hashable {
    /// A URI that the other system opens if none of its applications opens the requested one, for example a web page.
    /// Defaults to `nil`.
    ///
    /// The other system does not open it if an application or a user there denied the requested URI.
    public var fallbackURI: String?
    /// The ids of the applications that should open the URI. Defaults to none.
    ///
    /// The first that can opens it. Applications that do not open the URI's scheme are skipped. Only the first 16 are
    /// used.
    public var preferredApplicationIDs: [String]

    /// Whether only the ``preferredApplicationIDs`` may open the URI. Defaults to `false`: if none of them can, another
    /// application opens it. Any application may open the fallback.
    public var requiresPreferredApplication: Bool

    /// Creates options.
    public init(
        fallbackURI: String? = nil,
        preferredApplicationIDs: [String] = [],
        requiresPreferredApplication: Bool = false
    ) {
        self.fallbackURI = fallbackURI
        self.preferredApplicationIDs = preferredApplicationIDs
        self.requiresPreferredApplication = requiresPreferredApplication
    }
}
