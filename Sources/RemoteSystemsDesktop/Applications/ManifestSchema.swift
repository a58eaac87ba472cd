// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// What is wrong with a schema in a manifest.
///
/// A schema that comes over the wire is read leniently: what is not known in it may be a later version's. What a person has written
/// here is held to what there is, or a slip of the pen would allow everything.
struct SchemaFlaw: Error, Hashable {
    /// Where, from the schema on.
    var path: [String]
    var text: String

    private static let types = Set(ValueType.allCases.map(\.rawValue)).union(["any", "number"])
    private static let profiles = ["appService", "userActivity", "full"] as Set<String>

    /// Looks at a schema whose parts are of the right types.
    static func check(_ schema: ValueSet) throws(SchemaFlaw) {
        try Self.check(schema, knowing: ["base"], at: [])
        if let base = schema["base"]?.string, !Self.profiles.contains(base) {
            let known = Self.profiles.sorted().joined(separator: ", ")
            throw SchemaFlaw(path: ["base"], text: "'base' is one of \(known).")
        }
    }

    private static func check(_ body: ValueSet, knowing: Set<String>, at path: [String]) throws(SchemaFlaw) {
        try Self.checkKeys(of: body, known: knowing.union(["fields", "furtherKeys"]), at: path)
        for (name, descriptor) in body["fields"]?.dictionary ?? [:] {
            try Self.check(descriptor.dictionary ?? [:], isField: true, at: path + ["fields", name])
        }
    }

    private static func check(_ descriptor: ValueSet, isField: Bool, at path: [String]) throws(SchemaFlaw) {
        let type = descriptor["type"]?.string ?? "any"
        guard Self.types.contains(type) else {
            let known = Self.types.sorted().joined(separator: ", ")
            throw SchemaFlaw(path: path + ["type"], text: "'type' is one of \(known).")
        }
        let common: Set<String> = isField ? ["type", "required"] : ["type"]
        switch type {
        case "dictionary":
            try Self.check(descriptor, knowing: common, at: path)
        case "array", "set":
            try Self.checkKeys(of: descriptor, known: common.union(["of"]), at: path)
            guard let element = descriptor["of"]?.dictionary else { return }
            try Self.check(element, isField: false, at: path + ["of"])
        default:
            try Self.checkKeys(of: descriptor, known: common, at: path)
        }
    }

    private static func checkKeys(of set: ValueSet, known: Set<String>, at path: [String]) throws(SchemaFlaw) {
        for (key, _) in set where !known.contains(key) {
            throw SchemaFlaw(
                path: path + [key],
                text: "'\(key)' is not known here. Known are: \(known.sorted().joined(separator: ", "))."
            )
        }
    }
}
