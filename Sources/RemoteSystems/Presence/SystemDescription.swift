// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// The description that an application's process publishes of itself and its machine for systems of its account
/// (`Docs/wire/presence.md`). ``PresenceTopic`` defines its wire form.
struct SystemDescription: Sendable, Hashable {
    var displayName: String
    var kind: RemoteSystemKind
    var platform: RemoteSystemPlatform
    var manufacturer: String?
    var model: String?
    /// Whether the system holds the account's root key, and so can renew certificates.
    var isAuthority: Bool
    var application: Application
    /// The applications installed on the machine, running or not. Published by the process that can start them.
    var installed: [Application] = []
    /// The ids of other applications that run on the machine. Published by the process that can start applications.
    ///
    /// That process forwards a connection for such an application to the application's port, where the application
    /// describes itself.
    var running: [String] = []
    /// The running applications that registered with this process, which describes them and forwards connections to
    /// them.
    var programs: [Program] = []

    /// The description of one application on the machine.
    struct Application: Sendable, Hashable {
        var id: String
        var displayName: String
        var attributes: [String: String] = [:]
        var services: [RemoteSystemApplication.Service] = []
        var uriSchemes: [String] = []
        /// The names of the topics of applications that the application's process publishes. The host daemon's topics
        /// contain the records of registered programs.
        var topics: [String] = []
        /// The publisher of an installed application, as the host daemon vouches for it; `nil` for other applications.
        /// A program's own statement about itself is not read.
        var publisher: ApplicationPublisher?
    }

    /// A running application that registered with the publishing process.
    struct Program: Sendable, Hashable {
        var application: Application
        /// A number that differs between all registrations with the publishing process.
        var number: Int
        /// A random number for each start of the program.
        var epoch: Int64
        /// The port at which the program accepts connections.
        var port: Int
        /// The publisher, as the publishing process vouches for it.
        var publisher = ApplicationPublisher.unproven(nil)
    }

    /// Checks attributes against the limits beyond which watchers ignore them.
    static func check(attributes: [String: String]) throws(RemoteSystemError) {
        let isOutside = attributes.contains {
            !(1...Self.maxTextBytes).contains($0.key.utf8.count) || $0.value.utf8.count > Self.maxTextBytes
        }
        guard attributes.count <= Self.maxAttributes, !isOutside else {
            throw RemoteSystemError(
                .misuse,
                "An application has at most \(Self.maxAttributes) attributes. A name has 1 to \(Self.maxTextBytes) "
                    + "bytes of UTF-8, and a text has at most \(Self.maxTextBytes).",
                side: .local
            )
        }
    }

    static let maxServices = 256
    static let maxAttributes = 256
    static let maxSchemes = 256
    static let maxTopics = HostTopics.maxTopics
    static let maxInstalled = 256
    static let maxRunning = 256
    static let maxTextBytes = 1024
}

extension SystemDescription {
    /// Returns the description for systems of other accounts: the names of the machine and the application, the
    /// machine's kind, and these services.
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

extension SystemDescription {
    /// Returns the description for systems of a linked account: the names of the machine and of the applications, and
    /// the services and URI schemes that are granted. Applications without any are left out.
    ///
    /// - Parameters:
    ///   - others: further services of this application, which are offered to anyone.
    ///   - services: the services of this application.
    func granted(
        _ grants: Grants,
        beside others: [String],
        offered services: [String: AppService]
    ) -> SystemDescription {
        func granted(_ application: Application) -> Application {
            Application(
                id: application.id,
                displayName: application.displayName,
                services: application.services.filter { grants.services.contains($0.name) },
                uriSchemes: application.uriSchemes.filter(grants.uriSchemes.contains),
                topics: application.topics.filter(grants.topics.contains)
            )
        }
        func isOffered(_ application: Application) -> Bool {
            !application.services.isEmpty || !application.uriSchemes.isEmpty || !application.topics.isEmpty
        }
        var own = granted(self.application)
        own.services = self.application.services.filter {
            grants.services.contains($0.name) || others.contains($0.name)
        }
        own.services.removeAll { service in services[service.name].map { !$0.supportsRemote } ?? false }
        var description = SystemDescription(
            displayName: self.displayName,
            kind: self.kind,
            platform: self.platform,
            isAuthority: false,
            application: own
        )
        description.installed = self.installed.map(granted).filter(isOffered)
        description.programs = self.programs.compactMap { program in
            var program = program
            program.application = granted(program.application)
            return isOffered(program.application) ? program : nil
        }
        let named = Set(description.installed.map(\.id))
        description.running = self.running.filter(named.contains)
        return description
    }
}

extension String {
    /// The rule for names, in words.
    package static let nameForm = "1 to 256 bytes, and no control, invisible or line-breaking characters"

    /// Whether the text can be a service's name or an application's id, as a hello accepts them.
    package var isName: Bool { (1...256).contains(self.utf8.count) && self.isShownAsIs }

    /// Whether others show the text unchanged, without replacing characters by spaces.
    package var isShownAsIs: Bool { !self.hasControlCharacters }
}
