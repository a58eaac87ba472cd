// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// A problem of a schema in a manifest.
///
/// A schema from the wire is parsed leniently, because unknown parts may come from a later version. A schema in a
/// manifest must use known types and bases, and its unknown keys are reported: a misspelt key would allow every value.
struct SchemaFlaw: Error, Hashable {
    /// The path of the problem within the schema.
    var path: [String]
    var text: String

    private static let types = Set(ValueType.allCases.map(\.rawValue)).union(["any", "number"])
    private static let profiles = ["appService", "userActivity", "full"] as Set<String>

    /// Reports an unknown key, by its path, with the known keys at that place.
    typealias Report = (_ path: [String], _ known: Set<String>) -> Void

    /// Checks a schema whose parts have the right types.
    static func check(_ schema: ValueSet, unknownKey report: Report) throws(SchemaFlaw) {
        try Self.check(schema, knowing: ["base"], at: [], report)
        if let base = schema["base"]?.string, !Self.profiles.contains(base) {
            let known = Self.profiles.sorted().joined(separator: ", ")
            throw SchemaFlaw(path: ["base"], text: "'base' is one of \(known).")
        }
    }

    private static func check(
        _ body: ValueSet,
        knowing: Set<String>,
        at path: [String],
        _ report: Report
    ) throws(SchemaFlaw) {
        Self.checkKeys(of: body, known: knowing.union(["fields", "furtherKeys"]), at: path, report)
        for (name, descriptor) in body["fields"]?.dictionary ?? [:] {
            try Self.check(descriptor.dictionary ?? [:], isField: true, at: path + ["fields", name], report)
        }
    }

    private static func check(
        _ descriptor: ValueSet,
        isField: Bool,
        at path: [String],
        _ report: Report
    ) throws(SchemaFlaw) {
        let type = descriptor["type"]?.string ?? "any"
        guard Self.types.contains(type) else {
            let known = Self.types.sorted().joined(separator: ", ")
            throw SchemaFlaw(path: path + ["type"], text: "'type' is one of \(known).")
        }
        let common: Set<String> = isField ? ["type", "required"] : ["type"]
        switch type {
        case "dictionary":
            try Self.check(descriptor, knowing: common, at: path, report)
        case "array", "set":
            Self.checkKeys(of: descriptor, known: common.union(["of"]), at: path, report)
            guard let element = descriptor["of"]?.dictionary else { return }
            try Self.check(element, isField: false, at: path + ["of"], report)
        default:
            Self.checkKeys(of: descriptor, known: common, at: path, report)
        }
    }

    private static func checkKeys(of set: ValueSet, known: Set<String>, at path: [String], _ report: Report) {
        for (key, _) in set where !known.contains(key) { report(path + [key], known) }
    }
}
