// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport
internal import ValueSets

/// What an application's process tells of itself and its machine to systems of its account
/// (`Docs/wire/presence.md`).
struct SystemDescription: Sendable, Hashable {
    var displayName: String
    var kind: RemoteSystemKind
    var platform: RemoteSystemPlatform
    var manufacturer: String?
    var model: String?
    /// Whether the account's key is there, so that it can renew certificates.
    var isAuthority: Bool
    var application: Application
    /// The number of the newest revocation list that is known there; 0 if there is none.
    var revocations: UInt64 = 0

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
        let isLong = attributes.contains {
            $0.key.utf8.count > Self.maxTextBytes || $0.value.utf8.count > Self.maxTextBytes
        }
        guard attributes.count <= Self.maxAttributes, !isLong else {
            throw RemoteSystemError(
                .misuse,
                "An application has at most \(Self.maxAttributes) attributes, their names and texts of at most "
                    + "\(Self.maxTextBytes) bytes of UTF-8 each.",
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

// MARK: - On the wire

extension SystemDescription {
    var valueSet: ValueSet {
        var system: ValueSet = [
            "DisplayName": .string(self.displayName),
            "Kind": .string(self.kind.rawValue),
            "Platform": .integer(Int64(self.platform.rawValue)),
            "Authority": .bool(self.isAuthority),
        ]
        if self.revocations > 0 { system["Revoked"] = Value(self.revocations) }
        system["Manufacturer"] = self.manufacturer.map { .string($0) }
        system["Model"] = self.model.map { .string($0) }
        var message: ValueSet = [
            "Type": "description",
            "System": .dictionary(system),
            "Application": .dictionary(self.application.valueSet),
        ]
        if !self.installed.isEmpty {
            message["Installed"] = .array(self.installed.map { .dictionary($0.valueSet) })
        }
        if !self.running.isEmpty { message["Running"] = .array(self.running.map { .string($0) }) }
        return message
    }

    /// Reads a description; `nil` when it is none. What is too much of it is left out: a peer fills no tables here.
    init?(_ message: ValueSet) {
        guard message["Type"]?.string == "description", let system = message["System"]?.dictionary,
            let application = message["Application"]?.dictionary.flatMap({ Application($0) })
        else { return nil }
        self.displayName = system.text("DisplayName") ?? "?"
        self.kind = system.text("Kind").map { RemoteSystemKind(rawValue: $0) } ?? .unknown
        let platform = system["Platform"]?.unsignedInteger.flatMap { Int(exactly: $0) }
        self.platform = platform.map { RemoteSystemPlatform(rawValue: $0) } ?? .unknown
        self.manufacturer = system.text("Manufacturer")
        self.model = system.text("Model")
        self.isAuthority = system["Authority"]?.bool ?? false
        self.application = application
        self.revocations = system["Revoked"]?.unsignedInteger ?? 0
        self.installed = (message["Installed"]?.array ?? []).prefix(Self.maxInstalled)
            .compactMap { $0.dictionary.flatMap { Application($0) } }
        self.running = (message["Running"]?.array ?? []).prefix(Self.maxRunning)
            .compactMap(\.string).filter { $0.isName }
    }
}

extension SystemDescription.Application {
    var valueSet: ValueSet {
        var map: ValueSet = [
            "Id": .string(self.id),
            "DisplayName": .string(self.displayName),
            "Attributes": .dictionary(ValueSet(self.attributes.map { ($0.key, Value.string($0.value)) }) { $1 }),
            "Services": .array(self.services.map { .dictionary($0.valueSet) }),
        ]
        if !self.uriSchemes.isEmpty { map["Schemes"] = .array(self.uriSchemes.map { .string($0) }) }
        return map
    }

    fileprivate init?(_ map: ValueSet) {
        guard let id = map["Id"]?.string, id.isName else { return nil }
        var attributes: [String: String] = [:]
        for (key, value) in (map["Attributes"]?.dictionary ?? [:]).prefix(SystemDescription.maxAttributes) {
            guard let value = value.string, value.utf8.count <= SystemDescription.maxTextBytes,
                key.utf8.count <= SystemDescription.maxTextBytes
            else { continue }
            attributes[key] = value
        }
        let services = (map["Services"]?.array ?? []).prefix(SystemDescription.maxServices)
            .compactMap { $0.dictionary.flatMap { RemoteSystemApplication.Service($0) } }
        let schemes = (map["Schemes"]?.array ?? []).prefix(SystemDescription.maxSchemes)
            .compactMap(\.string).filter { (1...64).contains($0.utf8.count) }
        self.init(
            id: id,
            displayName: map.text("DisplayName") ?? id,
            attributes: attributes,
            services: services.sorted { $0.name < $1.name },
            uriSchemes: Set(schemes).sorted()
        )
    }
}

extension RemoteSystemApplication.Service {
    fileprivate var valueSet: ValueSet {
        var map: ValueSet = ["Name": .string(self.name)]
        map["RequestSchema"] = self.requestSchema.map { .dictionary($0.valueSet) }
        map["ResponseSchema"] = self.responseSchema.map { .dictionary($0.valueSet) }
        map["PushRequestSchema"] = self.pushRequestSchema.map { .dictionary($0.valueSet) }
        map["PushResponseSchema"] = self.pushResponseSchema.map { .dictionary($0.valueSet) }
        map["Version"] = self.version.map { .string($0) }
        map["Summary"] = self.summary.map { .string($0) }
        if !self.supportsRemote { map["Remote"] = false }
        return map
    }

    fileprivate init?(_ map: ValueSet) {
        guard let name = map["Name"]?.string, name.isName else { return nil }
        self.init(
            name: name,
            requestSchema: map.schema("RequestSchema"),
            responseSchema: map.schema("ResponseSchema"),
            pushRequestSchema: map.schema("PushRequestSchema"),
            pushResponseSchema: map.schema("PushResponseSchema"),
            version: map.text("Version"),
            summary: map.text("Summary"),
            supportsRemote: map["Remote"]?.bool ?? true
        )
    }
}

extension ValueSet {
    /// A schema; one that cannot be read allows every message.
    fileprivate func schema(_ key: String) -> AllowedValueSchema? {
        self[key]?.dictionary.map { (try? AllowedValueSchema($0)) ?? .full }
    }

    /// A text for people, who may have it printed.
    fileprivate func text(_ key: String) -> String? {
        guard let text = self[key]?.string, !text.isEmpty, text.utf8.count <= SystemDescription.maxTextBytes else {
            return nil
        }
        return text.withoutControlCharacters
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
