// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a launcher asks for beside the URI.
public struct RemoteLauncherOptions: Sendable, Hashable {
    /// Opened in its place if nothing over there opens the URI; most often a page on the web. Not opened when somebody
    /// or something over there has refused the URI.
    public var fallbackURI: String?
    /// The applications that should open it, by id, the first that can. They have to take the URI's scheme; others are
    /// passed over. Of the first 16 only.
    public var preferredApplicationIDs: [String]

    /// Whether no other application may open the URI than one of ``preferredApplicationIDs``. Defaults to `false`: where none of
    /// them can, another one opens it. The fallback may be opened by any application.
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
