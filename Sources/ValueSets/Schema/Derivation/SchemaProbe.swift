// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// What a type's `init(from:)` has asked for so far.
///
/// A probe gives placeholders in place of values: zero, the empty string, one element for each array. Where no
/// placeholder satisfies the type the probe ends with what it has seen.
final class SchemaProbe {
    private enum Shape {
        case unknown
        case scalar(FieldType)
        case array(of: FieldType?)
        case dictionary
    }

    /// That a type cannot be made of placeholders, or is part of itself.
    struct NoPlaceholder: Error {}

    private var shape = Shape.unknown
    private var fields: [String: (type: FieldType, isRequired: Bool)] = [:]
    /// Keys that the type asks about before it reads them.
    private var optionalKeys: Set<String> = []
    private(set) var hasElements: Bool
    /// The types that are being probed, from the outermost on.
    private let outer: [any Any.Type]

    private init(of type: any Any.Type, inside outer: [any Any.Type], hasElements: Bool) {
        self.outer = outer + [type]
        self.hasElements = hasElements
    }

    /// The schema of messages that the type can be decoded from; `nil` if it is not decoded from a dictionary.
    static func schema<T: Decodable>(of type: T.Type) -> AllowedValueSchema? {
        if let described = type as? any AllowedValueSchemaProviding.Type { return described.allowedValueSchema }
        let probe = Self.run(type, inside: []).probe
        guard case .dictionary = probe.shape else { return nil }
        return probe.schema
    }

    /// What values of the type look like, and one of them if there is a placeholder.
    static func probe<T: Decodable>(_ type: T.Type, inside outer: [any Any.Type]) -> (type: FieldType, value: T?) {
        if let known = KnownPlaceholder.of(type) { return known }
        // A type that is part of itself, or one of types without end.
        guard !outer.contains(where: { $0 == type }), outer.count < ValueSetLimits.deepest else { return (.any, nil) }
        let (probe, value) = Self.run(type, inside: outer)
        if let described = type as? any AllowedValueSchemaProviding.Type {
            return (.dictionary(described.allowedValueSchema), value)
        }
        return (probe.fieldType, value)
    }

    private static func run<T: Decodable>(
        _ type: T.Type,
        inside outer: [any Any.Type]
    ) -> (probe: SchemaProbe, value: T?) {
        let probe = SchemaProbe(of: type, inside: outer, hasElements: true)
        if let value = try? T(from: SchemaDecoder(probe: probe)) { return (probe, value) }
        if let first = Self.firstCase(type) { return (probe, first) }
        // Elements may be what cannot be made; an empty array can.
        guard case .array = probe.shape else { return (probe, nil) }
        let empty = SchemaProbe(of: type, inside: outer, hasElements: false)
        return (probe, try? T(from: SchemaDecoder(probe: empty)))
    }

    /// Enumerations are decoded from raw values that cannot be guessed; those that list their cases have one.
    private static func firstCase<T>(_ type: T.Type) -> T? {
        func first<Cases: CaseIterable>(_ type: Cases.Type) -> Any? { type.allCases.first }
        guard let type = type as? any CaseIterable.Type else { return nil }
        return first(type) as? T
    }

    // MARK: Results

    private var schema: AllowedValueSchema {
        AllowedValueSchema(
            fields: self.optionalKeys.subtracting(self.fields.keys).map { .optional($0, .any) }
                + self.fields.map { name, field in
                    let isRequired = field.isRequired && !self.optionalKeys.contains(name)
                    return isRequired ? .required(name, field.type) : .optional(name, field.type)
                },
            allowsFurtherKeys: true,
            basedOn: .full
        )
    }

    private var fieldType: FieldType {
        switch self.shape {
        case .unknown: .any
        case .scalar(let type): type
        case .array(let element): .array(of: element ?? .any)
        case .dictionary: .dictionary(self.schema)
        }
    }

    // MARK: What the type asks for

    func beginDictionary() { self.shape = .dictionary }

    func beginArray() {
        if case .array = self.shape { return }
        self.shape = .array(of: nil)
    }

    func note(_ type: FieldType) { self.shape = .scalar(type) }

    func note(_ key: some CodingKey, _ type: FieldType, isRequired: Bool) {
        // The type reads a key twice to try several forms, so that no one of them is required.
        if let before = self.fields[key.stringValue], before.type != type {
            self.fields[key.stringValue] = (.any, before.isRequired && isRequired)
        } else {
            self.fields[key.stringValue] = (type, isRequired)
        }
    }

    func noteQuestion(about key: some CodingKey) {
        self.optionalKeys.insert(key.stringValue)
    }

    func noteElement(_ type: FieldType) {
        self.hasElements = false
        guard case .array(let before) = self.shape else { return }
        self.shape = .array(of: before == nil || before == type ? type : .any)
    }

    func nested<T: Decodable>(_ type: T.Type) -> (type: FieldType, value: T?) {
        Self.probe(type, inside: self.outer)
    }

    /// For containers that the type opens inside this one.
    func child(_ note: (FieldType) -> Void, isArray: Bool) -> SchemaProbe {
        note(isArray ? .array(of: .any) : .dictionary(AllowedValueSchema.full))
        return SchemaProbe(of: Never.self, inside: self.outer, hasElements: true)
    }
}

/// Types that have a counterpart among the values, or are written as one, and what stands for them.
private enum KnownPlaceholder {
    static func of<T>(_ type: T.Type) -> (type: FieldType, value: T?)? {
        for (known, field, value) in Self.all where known == type { return (field, value as? T) }
        return nil
    }

    private static var all: [(any Any.Type, FieldType, Any?)] {
        [
            (Date.self, .date, Date(timeIntervalSince1970: 0)), (UUID.self, .uuid, UUID()), (Data.self, .data, Data()),
            (URL.self, .url, URL(string: "placeholder:")), (Value.self, .any, Value.null),
            (ValueSet.self, .dictionary(.full), ValueSet()), (String.self, .string, ""), (Bool.self, .bool, false),
            (Double.self, .number, 0.0), (Float.self, .number, Float(0)), (Int.self, .integer, 0),
        ]
    }
}
