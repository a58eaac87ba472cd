// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The applications that belong to the product itself: the host daemon and the command run them for programs that do
/// not use the SDK.
///
/// They are the system's own. No publisher signs them, and a system recognises them by these ids. A program can claim
/// such an id, so the publishers are compared for every type but that of the application.
package enum BuiltInApplication {
    /// The media players of the desktop, which the host daemon hands over.
    package static let mediaPlayers = "org.remotesystems.media-players"
    /// The activity type of media players.
    package static let playingMedia = "org.remotesystems.playing-media"
    /// The web browsers with the extension. Each has an application of its own, whose id begins with this one.
    package static let webBrowser = "org.remotesystems.web-browser"

    /// Whether an id is that of an application of the product.
    package static func isBuiltIn(_ application: String) -> Bool {
        application == Self.mediaPlayers || Self.isWebBrowser(application)
    }

    /// Whether two applications are those of the product for a type of activity. They hand it over within one account
    /// without a publisher.
    static func areBuiltIn(_ one: String, _ other: String, for type: String) -> Bool {
        switch type {
        case Self.playingMedia: one == Self.mediaPlayers && other == Self.mediaPlayers
        case UserActivity.browsingWeb: Self.isWebBrowser(one) && Self.isWebBrowser(other)
        default: false
        }
    }

    /// Whether an application is a browser with the extension.
    package static func isWebBrowser(_ application: String) -> Bool { application.hasPrefix(Self.webBrowser + ".") }
}
