// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import RemoteSystems
package import UserActivities

/// The manifest of an installed application: what it offers and how it is started (`Docs/host-daemon.md`).
package struct ApplicationManifest: Sendable, Hashable {
    package var application: InstalledApplication
    package var start: ApplicationStart
    /// The programs that are the application. Only they have its publisher.
    package var programs = ManifestPrograms()
    /// The activity types that the application continues, with those of its documents.
    package var activityTypes: Set<String> = []
    /// The domains whose web pages the application claims. A site must approve each.
    package var associatedDomains: Set<AssociatedDomain>
    /// The program that changes the application's notifications, and its arguments; `nil` for none.
    package var serviceExtension: [String]?
    /// The programs that show the application's notifications, by category.
    package var contentExtensions: [ContentExtensionEntry] = []
    /// The absolute path of the directory with the sounds of the application's notifications; `nil` for none.
    package var soundDirectory: String?
    /// The unknown keys, each with its line. They are ignored.
    package var warnings: [ConfigurationFileError] = []

    /// The maximum length of a manifest, in bytes.
    static let largestFile = 64 << 10

    /// Reads a manifest.
    ///
    /// Its file name must be the application's id, so that a manifest in one directory can replace one in another.
    package init(_ file: ConfigurationFile) throws(ConfigurationFileError) {
        var problems: [ConfigurationFileError] = []
        let manifest = Self.read(file, problems: &problems)
        if let first = problems.first { throw first }
        guard let manifest else { throw ConfigurationFileError(path: file.path, "The file cannot be read.") }
        self = manifest
    }

    /// Reads a manifest and appends its problems to `problems`.
    ///
    /// - Returns: `nil` if there is a problem.
    package static func read(_ file: ConfigurationFile, problems: inout [ConfigurationFileError])
        -> ApplicationManifest?
    {
        let unknown = UnknownKeys()
        let count = problems.count
        guard var manifest = file.decode(Self.self, noting: unknown, problems: &problems) else {
            // A missing key may be misspelt, so the first problem also names the unknown keys.
            for warning in unknown.warnings(about: file) where problems.count > count {
                problems[count].message += " Line \(warning.line ?? 1): \(warning.message)"
            }
            return nil
        }
        manifest.warnings = unknown.warnings(about: file)
        let name = file.path.split(separator: "/").last.map(String.init) ?? ""
        guard name == manifest.application.id + ".json" else {
            problems.append(
                file.error(
                    at: ["id"],
                    "The file must be called \(manifest.application.id).json, after its application's id."
                )
            )
            return nil
        }
        do throws(IdentityError) {
            let signature = try ManifestSignature(of: file.bytes)
            manifest.application.publisher = signature.map { .proven($0.publisher) } ?? .unsigned
        } catch {
            problems.append(file.error(at: ["publisher"], error.message))
            return nil
        }
        return manifest
    }
}

extension ApplicationManifest: Decodable {
    private enum Key: String, CodingKey, CaseIterable {
        case id, displayName, attributes, services, schemes, activityTypes, documentTypes, associatedDomains
        case start, requires, executables, units, flatpaks, publisher, notificationServiceExtension
        case notificationContentExtensions, notificationSounds
    }

    static let keys = Set(Key.allCases.map(\.stringValue))
    static var serviceKeys: Set<String> { ServiceEntry.keys }
    static var documentTypeKeys: Set<String> { DocumentTypeEntry.keys }
    /// All keys of a manifest and its parts. The documentation must describe them.
    package static var documentedKeys: Set<String> {
        Self.keys.union(Self.serviceKeys).union(Self.documentTypeKeys).union(PublisherEntry.keys)
            .union(ServiceExtensionEntry.keys).union(ContentExtensionEntry.keys)
    }

    static var publisherKeys: Set<String> { PublisherEntry.keys }
    static var serviceExtensionKeys: Set<String> { ServiceExtensionEntry.keys }
    static var contentExtensionKeys: Set<String> { ContentExtensionEntry.keys }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.tolerantContainer(keyedBy: Key.self)
        try Self.checkRequirements(container)
        let id = try decoder.attempt("") { try Self.id(container) }
        let displayName = try decoder.attempt(nil) { try container.textIfPresent(.displayName) }
        var application = InstalledApplication(id: id, displayName: displayName)
        application.attributes = try decoder.attempt([:]) { try Self.attributes(container) }
        application.services = try decoder.attempt([]) { try Self.services(container) }
        application.uriSchemes = try decoder.attempt([]) { try Self.schemes(container) }
        let activityTypes = try decoder.attempt([]) { try Self.activityTypes(container) }
        let documentTypes = try decoder.attempt([]) { try Self.documentTypes(container) }
        self.associatedDomains = try decoder.attempt([]) { try Self.associatedDomains(container) }
        self.activityTypes = activityTypes.union(documentTypes.map(\.activityType))
        application.continue(activityTypes: self.activityTypes, showsWebpages: !self.associatedDomains.isEmpty)
        self.application = application
        // Never used: a file with a problem is omitted.
        let none = ApplicationStart.exec([])
        self.start = try decoder.attempt(none) { try container.decode(ApplicationStart.self, forKey: .start) }
        self.serviceExtension = try decoder.attempt(nil) {
            try container.decodeIfPresent(ServiceExtensionEntry.self, forKey: .notificationServiceExtension)?.exec
        }
        self.contentExtensions = try decoder.attempt([]) { try Self.contentExtensions(container) }
        self.soundDirectory = try decoder.attempt(nil) { try Self.soundDirectory(container) }
        self.programs = try decoder.attempt(ManifestPrograms()) { try Self.programs(container) }
        self.programs.include(self.start)
        // Verified when the whole file is read, since the signature is about the whole file.
        _ = try decoder.attempt(nil) { try container.decodeIfPresent(PublisherEntry.self, forKey: .publisher) }
    }

    private static func programs(_ container: KeyedDecodingContainer<Key>) throws -> ManifestPrograms {
        func names(_ key: Key, _ rule: String, _ isValid: (String) -> Bool) throws -> Set<String> {
            let names = try container.decodeIfPresent([String].self, forKey: key) ?? []
            guard names.count <= ManifestPrograms.maxEntries, Set(names).count == names.count,
                names.allSatisfy({ (1...4096).contains($0.utf8.count) && $0.isShownAsIs && isValid($0) })
            else {
                throw container.invalid(key, "takes at most \(ManifestPrograms.maxEntries) \(rule), each once")
            }
            return Set(names)
        }
        let programs = ManifestPrograms(
            executables: try names(.executables, "absolute paths of programs") { $0.hasPrefix("/") },
            units: try names(.units, "names of service units, such as player.service") { ApplicationStart.isUnit($0) },
            flatpaks: try names(.flatpaks, "ids of Flatpak applications") { Self.isID($0) && $0.contains(".") }
        )
        if let interpreter = programs.executables.sorted().first(where: ManifestPrograms.isInterpreter) {
            throw container.invalid(
                .executables,
                "names the interpreter \(interpreter): every script that it runs would be this application. Name a "
                    + "service unit in 'units' instead"
            )
        }
        return programs
    }

    private static func id(_ container: KeyedDecodingContainer<Key>) throws -> String {
        let id = try container.text(.id, bytes: 1...128)
        guard Self.isID(id) else {
            throw container.invalid(
                .id,
                "is in reverse-DNS form: letters, digits, '.', '-' and '_', and a letter or digit first"
            )
        }
        guard !id.hasPrefix("remote-systems.") else {
            throw container.invalid(.id, "must not begin with remote-systems.")
        }
        return id
    }

    private static func attributes(_ container: KeyedDecodingContainer<Key>) throws -> [String: String] {
        let attributes = try container.decodeIfPresent([String: String].self, forKey: .attributes) ?? [:]
        guard attributes.count <= 256,
            attributes.allSatisfy({ $0.key.utf8.count <= 1024 && $0.value.utf8.count <= 1024 })
        else {
            throw container.invalid(.attributes, "takes at most 256 entries of at most 1024 bytes each")
        }
        return attributes
    }

    private static func services(_ container: KeyedDecodingContainer<Key>) throws -> [InstalledApplication.Service] {
        let entries = try container.decodeIfPresent([Attempted<ServiceEntry>].self, forKey: .services) ?? []
        let services = entries.compactMap(\.content?.service)
        guard Set(services.map(\.name)).count == services.count, entries.count <= 256 else {
            throw container.invalid(.services, "takes at most 256 services, each name once")
        }
        return services
    }

    private static func schemes(_ container: KeyedDecodingContainer<Key>) throws -> [String] {
        let schemes = Set(
            (try container.decodeIfPresent([String].self, forKey: .schemes) ?? []).map { $0.lowercased() }
        )
        guard schemes.count <= 256, schemes.allSatisfy({ LaunchURI.isScheme($0) }) else {
            throw container.invalid(.schemes, "takes at most 256 URI schemes such as \"player\", without a colon")
        }
        return schemes.sorted()
    }

    private static func activityTypes(_ container: KeyedDecodingContainer<Key>) throws -> Set<String> {
        let types = try container.decodeIfPresent([String].self, forKey: .activityTypes) ?? []
        guard types.count <= Self.maxTypes, types.allSatisfy(InstalledApplication.isActivityType),
            Set(types).count == types.count
        else {
            throw container.invalid(
                .activityTypes,
                "takes at most \(Self.maxTypes) activity types such as \"com.example.editing\", each once"
            )
        }
        return Set(types)
    }

    private static func documentTypes(_ container: KeyedDecodingContainer<Key>) throws -> [DocumentTypeEntry] {
        let entries = try container.decodeIfPresent([Attempted<DocumentTypeEntry>].self, forKey: .documentTypes) ?? []
        let types = entries.compactMap(\.content)
        let media = types.flatMap(\.mediaTypes)
        guard entries.count <= Self.maxTypes, Set(media).count == media.count else {
            throw container.invalid(
                .documentTypes,
                "takes at most \(Self.maxTypes) entries, and names each media type once"
            )
        }
        return types
    }

    private static func contentExtensions(
        _ container: KeyedDecodingContainer<Key>
    ) throws -> [ContentExtensionEntry] {
        let key = Key.notificationContentExtensions
        let entries = try container.decodeIfPresent([Attempted<ContentExtensionEntry>].self, forKey: key) ?? []
        let extensions = entries.compactMap(\.content)
        let categories = extensions.flatMap(\.categories)
        guard entries.count <= 16, Set(categories).count == categories.count else {
            throw container.invalid(key, "takes at most 16 entries, and names each category once")
        }
        return extensions
    }

    private static func soundDirectory(_ container: KeyedDecodingContainer<Key>) throws -> String? {
        guard container.contains(.notificationSounds) else { return nil }
        let path = try container.text(.notificationSounds, bytes: 1...4096)
        guard path.hasPrefix("/") else {
            throw container.invalid(.notificationSounds, "is the absolute path of a directory")
        }
        return path
    }

    private static func associatedDomains(_ container: KeyedDecodingContainer<Key>) throws -> Set<AssociatedDomain> {
        let entries = try container.decodeIfPresent([String].self, forKey: .associatedDomains) ?? []
        var domains: Set<AssociatedDomain> = []
        for (index, entry) in entries.enumerated() {
            let domain: AssociatedDomain
            do throws(AssociatedDomain.Flaw) {
                domain = try AssociatedDomain(entry)
            } catch {
                throw DecodingError.dataCorrupted(
                    DecodingError.Context(
                        codingPath: container.codingPath
                            + [Key.associatedDomains, FileKey(stringValue: "\(index)")],
                        debugDescription: "'associatedDomains' \(error.text)."
                    )
                )
            }
            domains.insert(domain)
        }
        guard entries.count <= AssociatedDomain.maxClaims, domains.count == entries.count else {
            throw container.invalid(
                .associatedDomains,
                "takes at most \(AssociatedDomain.maxClaims) domains, each once"
            )
        }
        return domains
    }

    /// The maximum number of activity types and of document types; together they are not too many to be published.
    private static var maxTypes: Int { InstalledApplication.maxActivityTypes / 2 }

    /// Checks `requires`. Called first: an unknown requirement may explain all other problems.
    private static func checkRequirements(_ container: KeyedDecodingContainer<Key>) throws {
        let names = try container.decodeIfPresent([String].self, forKey: .requires) ?? []
        guard names.count <= 256, names.allSatisfy({ (1...256).contains($0.utf8.count) && $0.isShownAsIs }) else {
            throw container.invalid(.requires, "takes up to 256 names of keys, each at most 256 bytes")
        }
        for (index, name) in names.enumerated() {
            guard let refusal = ManifestRequirement.refusal(of: name) else { continue }
            let path = container.codingPath + [Key.requires, FileKey(stringValue: "\(index)")]
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: refusal))
        }
    }

    /// Whether the text is a valid id of an installed application.
    static func isID(_ text: String) -> Bool {
        func isLetterOrDigit(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        }
        guard let first = text.utf8.first, isLetterOrDigit(first), text.utf8.count <= 128 else { return false }
        return text.utf8.allSatisfy { isLetterOrDigit($0) || ".-_".utf8.contains($0) }
    }
}

/// The notification service extension in a manifest.
private struct ServiceExtensionEntry: Decodable {
    var exec: [String]

    private enum Key: String, CodingKey, CaseIterable {
        case exec
    }

    static let keys = Set(Key.allCases.map(\.stringValue))

    init(from decoder: any Decoder) throws {
        self.exec = try decoder.tolerantContainer(keyedBy: Key.self).arguments(.exec)
    }
}

/// The publisher in a manifest. ``ManifestSignature`` verifies it.
private struct PublisherEntry: Decodable {
    private enum Key: String, CodingKey, CaseIterable {
        case id, keys, signature
    }

    static let keys = Set(Key.allCases.map(\.stringValue))

    init(from decoder: any Decoder) throws {
        let container = try decoder.tolerantContainer(keyedBy: Key.self)
        guard PublisherID(try container.decode(String.self, forKey: .id)) != nil else {
            throw container.invalid(.id, "is the 52 characters of a publisher's id")
        }
        _ = try container.decode([String].self, forKey: .keys)
        _ = try container.decode(String.self, forKey: .signature)
    }
}

/// A kind of document in a manifest, and the activity type with which it is handed over.
private struct DocumentTypeEntry: Decodable {
    var mediaTypes: [String]
    var activityType: String

    private enum Key: String, CodingKey, CaseIterable {
        case mediaTypes, activityType
    }

    static let keys = Set(Key.allCases.map(\.stringValue))

    init(from decoder: any Decoder) throws {
        let container = try decoder.tolerantContainer(keyedBy: Key.self)
        self.activityType = try container.text(.activityType, bytes: 1...256)
        guard InstalledApplication.isActivityType(self.activityType) else {
            throw container.invalid(.activityType, "is an activity type such as \"com.example.editing\"")
        }
        self.mediaTypes = try container.decode([String].self, forKey: .mediaTypes).map { $0.lowercased() }
        guard (1...64).contains(self.mediaTypes.count), self.mediaTypes.allSatisfy(Self.isMediaType) else {
            throw container.invalid(.mediaTypes, "takes 1 to 64 media types such as \"text/markdown\"")
        }
    }

    /// A type and a subtype (RFC 6838, section 4.2).
    private static func isMediaType(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { part in
                (1...127).contains(part.utf8.count)
                    && part.utf8.allSatisfy { byte in
                        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte)
                            || "!#$&-^_.+".utf8.contains(byte)
                    }
            }
    }
}

/// A service in a manifest.
private struct ServiceEntry: Decodable {
    var service: InstalledApplication.Service

    private enum Key: String, CodingKey, CaseIterable {
        case name, supportsRemote, callers, version, summary
        case requestSchema, responseSchema, pushRequestSchema, pushResponseSchema
    }

    static let keys = Set(Key.allCases.map(\.stringValue))

    init(from decoder: any Decoder) throws {
        let container = try decoder.tolerantContainer(keyedBy: Key.self)
        let unknown = UnknownKeys.collected(by: decoder)
        let name = try container.text(.name, bytes: 1...256)
        var service = InstalledApplication.Service(name)
        if name.hasPrefix("remote-systems."), name != AppService.pingName {
            try decoder.report(container.invalid(.name, "must not begin with remote-systems."))
        }
        service.supportsRemote = try decoder.attempt(false) {
            try container.decodeIfPresent(Bool.self, forKey: .supportsRemote) ?? false
        }
        service.callers = try decoder.attempt(.account) { try Self.callers(container) }
        service.requestSchema = try decoder.attempt(nil) {
            try Self.schema(container, .requestSchema, noting: unknown)
        }
        service.responseSchema = try decoder.attempt(nil) {
            try Self.schema(container, .responseSchema, noting: unknown)
        }
        service.pushRequestSchema = try decoder.attempt(nil) {
            try Self.schema(container, .pushRequestSchema, noting: unknown)
        }
        service.pushResponseSchema = try decoder.attempt(nil) {
            try Self.schema(container, .pushResponseSchema, noting: unknown)
        }
        service.version = try decoder.attempt(nil) { try container.textIfPresent(.version) }
        service.summary = try decoder.attempt(nil) { try container.textIfPresent(.summary) }
        self.service = service
    }

    private static func callers(_ container: KeyedDecodingContainer<Key>) throws -> AppServiceCallers {
        guard container.contains(.callers) else { return .account }
        if let applications = try? container.decode([String].self, forKey: .callers) {
            guard applications.count <= 256, applications.allSatisfy(\.isName) else {
                throw container.invalid(.callers, "takes up to 256 application ids")
            }
            return .applications(applications)
        }
        switch try? container.decode(String.self, forKey: .callers) {
        case "account": return .account
        case "sameApplication": return .sameApplication
        default:
            throw container.invalid(
                .callers,
                "is \"account\", \"sameApplication\", or an array of application ids"
            )
        }
    }

    private static func schema(
        _ container: KeyedDecodingContainer<Key>,
        _ key: Key,
        noting unknown: UnknownKeys?
    ) throws -> AllowedValueSchema? {
        guard container.contains(key) else { return nil }
        let set = try container.decode(ValueSet.self, forKey: key)
        let place = container.codingPath + [key]
        func flaw(_ path: [String], _ text: String) -> DecodingError {
            let path = place + path.map { FileKey(stringValue: $0) }
            return .dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: text))
        }
        let schema: AllowedValueSchema
        do {
            schema = try AllowedValueSchema(set)
        } catch {
            let (found, allowed) = (error.found ?? "value", error.allowed ?? "part of a schema")
            let what = "'\(error.keyPath)' is \(found.withArticle) and must be \(allowed.withArticle)."
            throw flaw([], "'\(key.stringValue)' is no schema: \(what)")
        }
        do throws(SchemaFlaw) {
            try SchemaFlaw.check(set) { path, known in
                unknown?.note(place.map { $0.intValue.map { "\($0)" } ?? $0.stringValue } + path, known: known)
            }
        } catch {
            throw flaw(error.path, error.text)
        }
        return schema
    }
}

extension String {
    /// The name of a value type with its article.
    fileprivate var withArticle: String { "\(self.first.map { "aeio".contains($0) } == true ? "an" : "a") \(self)" }
}
