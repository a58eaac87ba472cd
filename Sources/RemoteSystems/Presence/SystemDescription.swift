// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import ValueSets

/// What an application's process tells of itself and its machine to systems of its account
/// (`Docs/wire-protocol.md`, "Presence").
struct SystemDescription: Sendable, Hashable {
    var displayName: String
    var kind: RemoteSystemKind
    var platform: RemoteSystemPlatform
    var manufacturer: String?
    var model: String?
    /// Whether the account's key is there, so that it can renew certificates.
    var isAuthority: Bool
    var application: Application

    struct Application: Sendable, Hashable {
        var id: String
        var displayName: String
        var attributes: [String: String]
        var services: [RemoteSystemApplication.Service]
    }

    static let mostServices = 256
    static let mostAttributes = 256
    static let mostTextBytes = 1024
}

extension SystemDescription {
    var valueSet: ValueSet {
        var system: ValueSet = [
            "DisplayName": .string(self.displayName),
            "Kind": .string(self.kind.rawValue),
            "Platform": .integer(Int64(self.platform.rawValue)),
            "Authority": .bool(self.isAuthority),
        ]
        system["Manufacturer"] = self.manufacturer.map { .string($0) }
        system["Model"] = self.model.map { .string($0) }
        let attributes = ValueSet(self.application.attributes.map { ($0.key, Value.string($0.value)) }) { $1 }
        let services = self.application.services.map { service -> Value in
            var entry: ValueSet = ["Name": .string(service.name)]
            entry["Schema"] = service.schema.map { .dictionary($0.valueSet) }
            return .dictionary(entry)
        }
        return [
            "Type": "description",
            "System": .dictionary(system),
            "Application": [
                "Id": .string(self.application.id),
                "DisplayName": .string(self.application.displayName),
                "Attributes": .dictionary(attributes),
                "Services": .array(services),
            ],
        ]
    }

    /// Reads a description; `nil` when it is none. What is too much of it is left out: a peer fills no tables here.
    init?(_ message: ValueSet) {
        guard message["Type"]?.string == "description", let system = message["System"]?.dictionary,
            let application = message["Application"]?.dictionary,
            let id = application["Id"]?.string, (1...256).contains(id.utf8.count)
        else { return nil }
        func text(_ set: ValueSet, _ key: String) -> String? {
            guard let text = set[key]?.string, !text.isEmpty, text.utf8.count <= Self.mostTextBytes else { return nil }
            return text
        }
        self.displayName = text(system, "DisplayName") ?? "?"
        self.kind = text(system, "Kind").map { RemoteSystemKind(rawValue: $0) } ?? .unknown
        self.platform = RemoteSystemPlatform(rawValue: system["Platform"]?.int ?? 0)
        self.manufacturer = text(system, "Manufacturer")
        self.model = text(system, "Model")
        self.isAuthority = system["Authority"]?.bool ?? false
        var attributes: [String: String] = [:]
        for (key, value) in (application["Attributes"]?.dictionary ?? [:]).prefix(Self.mostAttributes) {
            if let value = value.string, value.utf8.count <= Self.mostTextBytes { attributes[key] = value }
        }
        var services: [RemoteSystemApplication.Service] = []
        for entry in (application["Services"]?.array ?? []).prefix(Self.mostServices) {
            guard let entry = entry.dictionary, let name = text(entry, "Name") else { continue }
            let schema = entry["Schema"]?.dictionary.flatMap { try? AllowedValueSchema($0) }
            services.append(RemoteSystemApplication.Service(name: name, schema: schema))
        }
        self.application = Application(
            id: id,
            displayName: text(application, "DisplayName") ?? id,
            attributes: attributes,
            services: services.sorted { $0.name < $1.name }
        )
    }
}

/// The built-in app service by which systems learn of each other.
enum Presence {
    static let service = "remote-systems.presence"

    /// How a host announces itself: an instance name that means nothing, a version, and a tag that only systems of the
    /// account can check.
    static let versionProperty = "v"
    static let tagProperty = "t"
    static let version = "1"
}
