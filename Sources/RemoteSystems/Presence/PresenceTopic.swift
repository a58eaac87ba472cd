// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// The topic `presence`: a ``SystemDescription`` as records (`Docs/wire/presence.md`).
enum PresenceTopic {
    static let schema = TopicSchema(
        "presence",
        priority: .presence,
        records: [
            TopicSchema.Records(
                Self.system,
                fields: [
                    .optional("DisplayName", .string), .optional("Kind", .string), .optional("Platform", .integer),
                    .optional("Authority", .bool), .optional("Manufacturer", .string), .optional("Model", .string),
                ]
            ),
            TopicSchema.Records(
                Self.application,
                fields: [
                    .required("Id", .string), .optional("DisplayName", .string),
                    .optional("Schemes", .array(of: .string)), .optional("Topics", .array(of: .string)),
                ]
            ),
            TopicSchema.Records(Self.attribute, fields: [.required("Value", .string)]),
            TopicSchema.Records(
                Self.service,
                fields: [.optional("Version", .string), .optional("Summary", .string), .optional("Remote", .bool)]
            ),
            TopicSchema.Records(
                Self.installed,
                fields: [
                    .optional("DisplayName", .string), .optional("Attributes", .any), .optional("Services", .any),
                    .optional("Schemes", .array(of: .string)),
                    .optional("Publisher", .string), .optional("Proof", .string),
                ]
            ),
            TopicSchema.Records(
                Self.running,
                fields: [
                    .optional("Number", .integer), .optional("Port", .integer), .optional("Epoch", .integer),
                    .optional("Publisher", .string), .optional("Proof", .string),
                ]
            ),
            // The records of an application, an attribute, a service or a schema.
            TopicSchema.Records(
                Self.process,
                fields: [
                    .optional("Id", .string), .optional("DisplayName", .string),
                    .optional("Schemes", .array(of: .string)), .optional("Topics", .array(of: .string)),
                    .optional("Value", .string),
                    .optional("Version", .string), .optional("Summary", .string), .optional("Remote", .bool),
                    .optional("Bytes", .data),
                ]
            ),
        ] + Self.schemas.map { TopicSchema.Records($0.key, fields: [.required("Bytes", .data)]) }
    )

    static let system = "system"
    static let application = "application"
    static let attribute = "attribute/"
    static let service = "service/"
    static let installed = "installed/"
    static let running = "running/"
    /// The prefix of the records of a program. The program's number, a slash and the record's own key follow.
    static let process = "process/"

    /// The schemas of a service. Each is split into several records, since it may be long.
    fileprivate static let schemas: [SchemaRecord] = [
        SchemaRecord(key: "request-schema/", field: "RequestSchema", path: \.requestSchema),
        SchemaRecord(key: "response-schema/", field: "ResponseSchema", path: \.responseSchema),
        SchemaRecord(key: "push-request-schema/", field: "PushRequestSchema", path: \.pushRequestSchema),
        SchemaRecord(key: "push-response-schema/", field: "PushResponseSchema", path: \.pushResponseSchema),
    ]

    /// The form of a schema: records for a running service, a field of the application's record for an installed one.
    fileprivate struct SchemaRecord: Sendable {
        static let pieceBytes = 15 << 10

        /// The prefix of the record's key, followed by the piece's number, a slash and the service's name.
        let key: String
        let field: String
        let path: any WritableKeyPath<RemoteSystemApplication.Service, AllowedValueSchema?> & Sendable
    }
}

// MARK: - Publishing

extension SystemDescription {
    /// The records of the description, and whether they are complete. What exceeds the limits of a record or of the
    /// topic is left out, schemas first.
    var records: (records: [StateKey: ValueSet], isComplete: Bool) {
        var page = RecordPage()
        page.add(PresenceTopic.system) { self.systemRecord }
        page.add(self.application)
        for application in self.running { page.add(PresenceTopic.running + application) { [:] } }
        for application in self.installed {
            let key = PresenceTopic.installed + application.id
            page.add(key, { application.withoutSchemas.record }, { application.withoutServices.record })
        }
        for program in self.programs { page.add(program) }
        page.addSchemas(of: self.application)
        for application in self.installed where application != application.withoutSchemas {
            page.add(PresenceTopic.installed + application.id) { application.record }
        }
        return (page.records, page.isComplete)
    }

    private var systemRecord: ValueSet {
        var record: ValueSet = [
            "DisplayName": .string(self.displayName),
            "Kind": .string(self.kind.rawValue),
            "Platform": self.platform.field,
            "Authority": .bool(self.isAuthority),
        ]
        record["Manufacturer"] = self.manufacturer.map { .string($0) }
        record["Model"] = self.model.map { .string($0) }
        return record
    }
}

/// Records within the limits of a topic.
private struct RecordPage {
    private(set) var records: [StateKey: ValueSet] = [:]
    private(set) var isComplete = true
    private var sizes: [StateKey: Int] = [:]
    private var bytes = 0

    /// Adds the first form of a record that fits, in place of an existing record with the same key.
    mutating func add(_ key: String, _ forms: () -> ValueSet...) {
        let key = StateKey(key)
        let before = self.sizes[key] ?? 0
        for (number, form) in forms.enumerated() {
            let record = form()
            let length = (try? record.encodedSize(limits: ValueSetLimits(depth: StateLimits.recordDepth))) ?? .max
            guard length <= StateLimits.recordBytes else { continue }
            let size = key.text.utf8.count + length
            guard self.bytes - before + size <= StateLimits.topicBytes,
                before > 0 || self.records.count < StateLimits.topicRecords
            else { continue }
            self.records[key] = record
            self.sizes[key] = size
            self.bytes += size - before
            if number > 0 { self.isComplete = false }
            return
        }
        self.isComplete = false
    }

    mutating func add(_ application: SystemDescription.Application) {
        self.add(PresenceTopic.application) { application.ownRecord }
        for (name, value) in application.attributes.sorted(by: { $0.key < $1.key }) where !name.isEmpty {
            self.add(PresenceTopic.attribute + name) { ["Value": .string(value)] }
        }
        for service in application.services {
            self.add(PresenceTopic.service + service.name) { service.withoutSchemas.valueSet }
        }
    }

    mutating func addSchemas(of application: SystemDescription.Application) {
        for service in application.services {
            for schema in PresenceTopic.schemas { self.add(schema, of: service) }
        }
    }

    /// Adds all records of a program. If they do not fit, adds only its id; watchers then receive the description from
    /// the program itself.
    mutating func add(_ program: SystemDescription.Program) {
        var own = RecordPage()
        own.add(program.application)
        own.addSchemas(of: program.application)
        let prefix = "\(PresenceTopic.process)\(program.number)/"
        let bytes = own.bytes + own.records.count * prefix.utf8.count
        // The record of the program's id needs at most this many bytes beside its key.
        let idBytes = PresenceTopic.running.utf8.count + program.application.id.utf8.count + 160
        let fits =
            own.isComplete && self.bytes + bytes + idBytes <= StateLimits.topicBytes
            && self.records.count + own.records.count < StateLimits.topicRecords
            && own.records.keys.allSatisfy { prefix.utf8.count + $0.text.utf8.count <= StateLimits.keyBytes }
        self.add(PresenceTopic.running + program.application.id) {
            guard fits else { return program.publisher.record }
            return program.publisher.record.merging([
                "Number": .integer(Int64(program.number)), "Port": .integer(Int64(program.port)),
                "Epoch": .integer(program.epoch),
            ]) { $1 }
        }
        guard fits else { return }
        for (key, record) in own.records {
            let prefixed = StateKey(prefix + key.text)
            self.records[prefixed] = record
            self.sizes[prefixed] = own.sizes[key].map { $0 + prefix.utf8.count }
        }
        self.bytes += bytes
    }

    /// Adds all pieces of a schema, or none.
    mutating func add(_ schema: PresenceTopic.SchemaRecord, of service: RemoteSystemApplication.Service) {
        guard let value = service[keyPath: schema.path] else { return }
        let before = self
        self.isComplete = true
        var left = ((try? value.valueSet.encoded()) ?? [])[...]
        var piece = 0
        while !left.isEmpty {
            let bytes = left.prefix(PresenceTopic.SchemaRecord.pieceBytes)
            self.add("\(schema.key)\(piece)/\(service.name)") { ["Bytes": .data(Data(bytes))] }
            left = left.dropFirst(bytes.count)
            piece += 1
        }
        guard self.isComplete else {
            self = before
            self.isComplete = false
            return
        }
        self.isComplete = before.isComplete
    }
}

extension SystemDescription.Application {
    /// The record of the publishing application. Its attributes and services have records of their own.
    fileprivate var ownRecord: ValueSet {
        var record: ValueSet = ["Id": .string(self.id), "DisplayName": .string(self.displayName)]
        if !self.uriSchemes.isEmpty { record["Schemes"] = .array(self.uriSchemes.map { .string($0) }) }
        if !self.topics.isEmpty { record["Topics"] = .array(self.topics.map { .string($0) }) }
        return record
    }

    /// The record of an installed application.
    fileprivate var record: ValueSet {
        var record: ValueSet = ["DisplayName": .string(self.displayName)]
        if !self.attributes.isEmpty {
            let attributes = self.attributes.map { ($0.key, Value.string($0.value)) }
            record["Attributes"] = .dictionary(ValueSet(attributes) { $1 })
        }
        if !self.services.isEmpty {
            record["Services"] = .dictionary(
                ValueSet(self.services.map { ($0.name, Value.dictionary($0.valueSet)) }) { $1 }
            )
        }
        if !self.uriSchemes.isEmpty { record["Schemes"] = .array(self.uriSchemes.map { .string($0) }) }
        return record.merging(self.publisher?.record ?? [:]) { $1 }
    }

    fileprivate var withoutSchemas: Self {
        var application = self
        application.services = self.services.map(\.withoutSchemas)
        return application
    }

    fileprivate var withoutServices: Self {
        var application = self
        application.services = []
        application.attributes = [:]
        return application
    }
}

// MARK: - Reading

extension SystemDescription {
    /// Creates a description from records; `nil` if they hold none. Entries beyond the limits are ignored, in the order
    /// of their keys, so that a peer cannot make this process store more.
    init?(_ records: [StateKey: ValueSet]) {
        guard let system = records[StateKey(PresenceTopic.system)] else { return nil }
        var kinds = RecordKinds()
        for (key, record) in records { kinds.add(key, record) }
        guard let application = Application(records, kinds) else { return nil }
        self.displayName = system.text("DisplayName") ?? "?"
        self.kind = system.text("Kind").map { RemoteSystemKind(rawValue: $0) } ?? .unknown
        self.platform = RemoteSystemPlatform(system["Platform"]) ?? .unknown
        self.manufacturer = system.text("Manufacturer")
        self.model = system.text("Model")
        self.isAuthority = system["Authority"]?.bool ?? false
        self.application = application
        self.installed = kinds.installed.sorted { $0.key < $1.key }.prefix(Self.maxInstalled).compactMap {
            guard $0.key.isName else { return nil }
            let attributes = ($0.record["Attributes"]?.dictionary ?? [:]).map { ($0, Optional($1)) }
            let services = ($0.record["Services"]?.dictionary ?? [:]).compactMap { name, service in
                service.dictionary.map { (name, $0) }
            }
            var application = Application($0.key, $0.record, attributes: attributes, services: services)
            application.publisher = $0.record["Proof"] == nil ? nil : ApplicationPublisher($0.record)
            return application
        }
        let running = kinds.running.filter { $0.key.isName }.sorted { $0.key < $1.key }.prefix(Self.maxRunning)
        self.programs = running.compactMap { Program($0.key, $0.record, kinds.processes) }
        let described = Set(self.programs.map(\.application.id))
        self.running = running.map(\.key).filter { !described.contains($0) }
    }
}

extension SystemDescription.Program {
    /// Creates a program from its record and the records of all programs; `nil` if they do not describe it.
    fileprivate init?(_ id: String, _ record: ValueSet, _ processes: [String: [StateKey: ValueSet]]) {
        guard let number = record["Number"]?.int, number >= 0, let port = record["Port"]?.int,
            (1...65_535).contains(port), let records = processes[String(number)]
        else { return nil }
        var kinds = RecordKinds()
        for (key, record) in records { kinds.add(key, record) }
        guard let application = SystemDescription.Application(records, kinds), application.id == id else { return nil }
        self.init(
            application: application,
            number: number,
            epoch: record["Epoch"]?.int.map { Int64($0) } ?? 0,
            port: port,
            publisher: ApplicationPublisher(record)
        )
    }
}

extension SystemDescription.Application {
    /// Creates the application that records describe; `nil` if they do not.
    fileprivate init?(_ records: [StateKey: ValueSet], _ kinds: RecordKinds) {
        guard let own = records[StateKey(PresenceTopic.application)], let id = own["Id"]?.string, id.isName else {
            return nil
        }
        self.init(id, own, attributes: kinds.attributes.map { ($0, $1["Value"]) }, services: kinds.services)
        for index in self.services.indices {
            let name = self.services[index].name
            for schema in PresenceTopic.schemas {
                self.services[index][keyPath: schema.path] = schema.read(records, service: name)
            }
        }
    }
}

extension PresenceTopic.SchemaRecord {
    /// The schema of a service; `nil` if it has none. An unreadable schema is replaced by one that allows every
    /// message.
    fileprivate func read(_ records: [StateKey: ValueSet], service: String) -> AllowedValueSchema? {
        var bytes: [UInt8] = []
        var piece = 0
        while let next = records[StateKey("\(self.key)\(piece)/\(service)")]?["Bytes"]?.data {
            bytes += next
            piece += 1
        }
        guard piece > 0 else { return nil }
        return (try? AllowedValueSchema(ValueSet(encoded: bytes))) ?? .full
    }
}

/// The records grouped by kind, each with its key after the prefix.
private struct RecordKinds {
    var attributes: [(key: String, record: ValueSet)] = []
    var services: [(key: String, record: ValueSet)] = []
    var installed: [(key: String, record: ValueSet)] = []
    var running: [(key: String, record: ValueSet)] = []
    /// The records of each process by their own keys, by the process's number.
    var processes: [String: [StateKey: ValueSet]] = [:]

    mutating func add(_ key: StateKey, _ record: ValueSet) {
        if let name = key.suffix(after: PresenceTopic.attribute) {
            self.attributes.append((name, record))
        } else if let name = key.suffix(after: PresenceTopic.service) {
            self.services.append((name, record))
        } else if let id = key.suffix(after: PresenceTopic.installed) {
            self.installed.append((id, record))
        } else if let id = key.suffix(after: PresenceTopic.running) {
            self.running.append((id, record))
        } else if let rest = key.suffix(after: PresenceTopic.process), let slash = rest.firstIndex(of: "/") {
            self.processes[String(rest[..<slash]), default: [:]][StateKey(String(rest[rest.index(after: slash)...]))] =
                record
        }
    }
}

extension SystemDescription.Application {
    fileprivate init(
        _ id: String,
        _ record: ValueSet,
        attributes: [(String, Value?)],
        services: [(String, ValueSet)]
    ) {
        let maxBytes = SystemDescription.maxTextBytes
        var texts: [String: String] = [:]
        for (key, value) in attributes.sorted(by: { $0.0 < $1.0 }).prefix(SystemDescription.maxAttributes) {
            guard let value = value?.string, value.utf8.count <= maxBytes, key.utf8.count <= maxBytes else { continue }
            texts[key] = value
        }
        let schemes = (record["Schemes"]?.array ?? []).prefix(SystemDescription.maxSchemes)
            .compactMap(\.string).filter { (1...64).contains($0.utf8.count) }
        let topics = (record["Topics"]?.array ?? []).prefix(SystemDescription.maxTopics)
            .compactMap(\.string).filter(StateMessage.isName)
        self.init(
            id: id,
            displayName: record.text("DisplayName") ?? id,
            attributes: texts,
            services: services.sorted { $0.0 < $1.0 }.prefix(SystemDescription.maxServices)
                .compactMap { RemoteSystemApplication.Service($0, $1) },
            uriSchemes: Set(schemes).sorted(),
            topics: Set(topics).sorted()
        )
    }
}

extension ApplicationPublisher {
    /// The fields of a record; empty if this process vouches for nothing.
    fileprivate var record: ValueSet {
        guard self != .unproven(nil) else { return [:] }
        var record: ValueSet = ["Proof": .string(self.proof)]
        record["Publisher"] = self.id.map { .string("\($0)") }
        return record
    }

    fileprivate init(_ record: ValueSet) {
        self.init(id: record["Publisher"]?.string, proof: record["Proof"]?.string)
    }
}

extension RemoteSystemApplication.Service {
    fileprivate var withoutSchemas: Self {
        var service = self
        for schema in PresenceTopic.schemas { service[keyPath: schema.path] = nil }
        return service
    }

    /// The wire form, without the name.
    fileprivate var valueSet: ValueSet {
        var map: ValueSet = [:]
        for schema in PresenceTopic.schemas {
            map[schema.field] = self[keyPath: schema.path].map { .dictionary($0.valueSet) }
        }
        map["Version"] = self.version.map { .string($0) }
        map["Summary"] = self.summary.map { .string($0) }
        if !self.supportsRemote { map["Remote"] = false }
        return map
    }

    fileprivate init?(_ name: String?, _ map: ValueSet) {
        guard let name, name.isName else { return nil }
        self.init(
            name: name,
            version: map.text("Version"),
            summary: map.text("Summary"),
            supportsRemote: map["Remote"]?.bool ?? true
        )
        for schema in PresenceTopic.schemas { self[keyPath: schema.path] = map.schema(schema.field) }
    }
}

extension ValueSet {
    /// Reads a schema. An unreadable one is replaced by one that allows every message.
    fileprivate func schema(_ key: String) -> AllowedValueSchema? {
        self[key]?.dictionary.map { (try? AllowedValueSchema($0)) ?? .full }
    }

    /// Reads a text for people. Control characters are removed, since programs may print it.
    fileprivate func text(_ key: String) -> String? {
        guard let text = self[key]?.string, !text.isEmpty, text.utf8.count <= SystemDescription.maxTextBytes else {
            return nil
        }
        return text.withoutControlCharacters
    }
}
