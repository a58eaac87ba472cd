// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport

/// What an application's process tells of itself and its machine to systems of its account
/// (`Docs/wire/presence.md`). ``PresenceTopic`` has its form on the wire.
struct SystemDescription: Sendable, Hashable {
    var displayName: String
    var kind: RemoteSystemKind
    var platform: RemoteSystemPlatform
    var manufacturer: String?
    var model: String?
    /// Whether the account's key is there, so that it can renew certificates.
    var isAuthority: Bool
    var application: Application
    /// Applications that are installed there, whether or not they run; told by the one that starts them.
    var installed: [Application] = []
    /// The ids of other applications that run there, told by the same one: whoever connects to it and names one is sent to
    /// that one's port, and told by it what it is.
    var running: [String] = []

    struct Application: Sendable, Hashable {
        var id: String
        var displayName: String
        var attributes: [String: String] = [:]
        var services: [RemoteSystemApplication.Service] = []
        var uriSchemes: [String] = []
    }

    /// Watchers leave out what is more than this; whoever says it is told so.
    static func check(attributes: [String: String]) throws(RemoteSystemError) {
        let isOutside = attributes.contains {
            !(1...Self.maxTextBytes).contains($0.key.utf8.count) || $0.value.utf8.count > Self.maxTextBytes
        }
        guard attributes.count <= Self.maxAttributes, !isOutside else {
            throw RemoteSystemError(
                .misuse,
                "An application has at most \(Self.maxAttributes) attributes, their names of 1 to \(Self.maxTextBytes) bytes "
                    + "of UTF-8, their texts of at most as many.",
                side: .local
            )
        }
    }

    static let maxServices = 256
    static let maxAttributes = 256
    static let maxSchemes = 256
    static let maxInstalled = 256
    static let maxRunning = 256
    static let maxTextBytes = 1024
}

extension SystemDescription {
    /// What a system of another account is told: the machine's name and kind, the application's, and these services.
    func forAnyone(_ services: [String]) -> SystemDescription {
        SystemDescription(
            displayName: self.displayName,
            kind: self.kind,
            platform: .unknown,
            isAuthority: false,
            application: Application(
                id: self.application.id,
                displayName: self.application.displayName,
                services: self.application.services.filter { services.contains($0.name) }
            )
        )
    }
}

extension String {
    /// What such a name may be, in words.
    package static let nameForm = "1 to 256 bytes, and no control, invisible or line-breaking characters"

    /// Whether it can be the name of a service or the id of an application, as a hello takes them.
    package var isName: Bool { (1...256).contains(self.utf8.count) && self.isShownAsIs }

    /// Whether others show it as it is, and put no spaces into it.
    package var isShownAsIs: Bool { !self.hasControlCharacters }
}

/// The built-in app service by which systems learn of each other.
enum Presence {
    static let service = "remote-systems.presence"

    /// How a host announces itself: an instance name that means nothing, a version, and a tag that only systems of the
    /// account can check.
    static let versionProperty = "v"
    static let tagProperty = "t"
    /// There, and `1`, when systems of other accounts may connect.
    static let anonymousProperty = "a"
    static let version = "1"
}
