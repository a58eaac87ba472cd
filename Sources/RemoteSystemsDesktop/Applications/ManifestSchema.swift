// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// What is wrong with a schema in a manifest.
///
/// A schema that comes over the wire is read leniently: what is not known in it may be a later version's. What a person has written
/// here must have types and bases that there are, and keys that are not known are reported: a misspelt one allows everything.
struct SchemaFlaw: Error, Hashable {
    /// Where, from the schema on.
    var path: [String]
    var text: String

    private static let types = Set(ValueType.allCases.map(\.rawValue)).union(["any", "number"])
    private static let profiles = ["appService", "userActivity", "full"] as Set<String>

    /// Takes the path of a key that is not known, and the keys that are known there.
    typealias Report = (_ path: [String], _ known: Set<String>) -> Void

    /// Checks a schema whose parts are of the right types.
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
