// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// The published form of a schema is a value set:
//
//     { "base": "appService", "furtherKeys": true,
//       "fields": { "Tags": { "type": "array", "of": { "type": "string" }, "required": true } } }
//
// A nested dictionary has its "fields" and "furtherKeys" beside its "type". Parts with their default value are omitted.
extension AllowedValueSchema {
    /// The schema as a value set, the form in which it is published. ``init(_:)`` reads it back.
    public var valueSet: ValueSet {
        var set: ValueSet = ["base": .string(profile.rawValue)]
        set.merge(body) { _, new in new }
        return set
    }

    fileprivate var body: ValueSet {
        var set: ValueSet = [:]
        if allowsFurtherKeys { set["furtherKeys"] = true }
        if !fields.isEmpty {
            set["fields"] = .dictionary(
                ValueSet(
                    fields.map { field in
                        var descriptor = field.type.kind.descriptor
                        if field.isRequired { descriptor["required"] = true }
                        return (field.name, .dictionary(descriptor))
                    }
                )
            )
        }
        return set
    }

    /// Creates a schema from its published form.
    ///
    /// Additions of a later version never make this version refuse a message. Unknown keys are ignored, an unknown type
    /// counts as ``FieldType/any``, and an unknown base counts as ``full``. The receiver of the message checks it in
    /// any case.
    ///
    /// - Parameter set: The ``valueSet`` of a schema.
    /// - Throws: ``ValueSetError`` with ``ValueSetError/Code/invalidSchema`` and the key path of a known part that is
    ///   invalid.
    public init(_ set: ValueSet) throws(ValueSetError) {
        let base = try set.schemaPart("base", \.string, "string") ?? Profile.full.rawValue
        try self.init(body: set, profile: Profile(rawValue: base) ?? .full, depth: 1)
    }

    fileprivate init(body set: ValueSet, profile: Profile, depth: Int) throws(ValueSetError) {
        guard depth <= ValueSetLimits.deepest else { throw .tooDeep(limits: ValueSetLimits(depth: .max)) }
        let furtherKeys = try set.schemaPart("furtherKeys", \.bool, "bool") ?? false
        var fields: [Field] = []
        for (name, descriptor) in try set.schemaPart("fields", \.dictionary, "dictionary") ?? [:] {
            do throws(ValueSetError) {
                guard case .dictionary(let descriptor) = descriptor else {
                    throw .schemaPart(found: descriptor, allowed: "dictionary")
                }
                fields.append(
                    Field(
                        name: name,
                        type: FieldType(kind: try FieldType.Kind(descriptor, depth: depth + 1)),
                        isRequired: try descriptor.schemaPart("required", \.bool, "bool") ?? false
                    )
                )
            } catch {
                throw error.inside(key: name).inside(key: "fields")
            }
        }
        self.init(profile: profile, fields: fields, allowsFurtherKeys: furtherKeys)
    }
}

extension FieldType.Kind {
    fileprivate var descriptor: ValueSet {
        switch self {
        case .any: ["type": "any"]
        case .number: ["type": "number"]
        case .scalar(let type): ["type": .string(type.rawValue)]
        case .array(let element): ["type": "array", "of": .dictionary(element.descriptor)]
        case .set(let element): ["type": "set", "of": .dictionary(element.descriptor)]
        case .dictionary(let schema): schema.body.merging(["type": "dictionary"]) { _, new in new }
        }
    }

    fileprivate init(_ set: ValueSet, depth: Int) throws(ValueSetError) {
        guard depth <= ValueSetLimits.deepest else { throw .tooDeep(limits: ValueSetLimits(depth: .max)) }
        switch try set.schemaPart("type", \.string, "string") ?? "any" {
        case "number":
            self = .number
        case "array":
            self = .array(of: try Self.element(of: set, depth: depth))
        case "set":
            self = .set(of: try Self.element(of: set, depth: depth))
        case "dictionary":
            self = .dictionary(try AllowedValueSchema(body: set, profile: .full, depth: depth + 1))
        case let name:
            self = ValueType(rawValue: name).map(Self.scalar) ?? .any
        }
    }

    private static func element(
        of set: ValueSet,
        depth: Int
    ) throws(ValueSetError) -> FieldType.Kind {
        guard let element = try set.schemaPart("of", \.dictionary, "dictionary") else { return .any }
        do {
            return try FieldType.Kind(element, depth: depth + 1)
        } catch {
            throw error.inside(key: "of")
        }
    }
}

extension ValueSet {
    fileprivate func schemaPart<Part>(
        _ key: String,
        _ read: (Value) -> Part?,
        _ allowed: StaticString
    ) throws(ValueSetError) -> Part? {
        guard let value = self[key] else { return nil }
        guard let part = read(value) else {
            throw ValueSetError.schemaPart(found: value, allowed: allowed).inside(key: key)
        }
        return part
    }
}

extension ValueSetError {
    fileprivate static func schemaPart(found value: Value, allowed: StaticString) -> ValueSetError {
        ValueSetError(
            .invalidSchema,
            "A part of the schema is of the wrong type. Ask the service's author to correct what it publishes.",
            found: value.type.rawValue,
            allowed: "\(allowed)"
        )
    }
}
