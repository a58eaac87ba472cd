// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The record of what a type's `init(from:)` read, in one run or merged from several.
struct SchemaFindings {
    private enum Shape: Equatable {
        /// Nothing was read, or two runs read different kinds of value.
        case unknown
        case scalar(FieldType)
        case array(of: FieldType?)
        case dictionary
    }

    private struct Field {
        var type: FieldType
        var isRequired: Bool
    }

    private var shape = Shape.unknown
    private var fields: [String: Field] = [:]
    /// Keys that the type asks about before it reads them.
    private var optionalKeys: Set<String> = []

    var isDictionary: Bool { self.shape == .dictionary }

    // MARK: One run

    mutating func beginDictionary() { self.shape = .dictionary }

    mutating func beginArray() {
        if case .array = self.shape { return }
        self.shape = .array(of: nil)
    }

    mutating func note(_ type: FieldType) { self.shape = .scalar(type) }

    mutating func note(_ key: some CodingKey, _ type: FieldType, isRequired: Bool) {
        // The type reads a key twice to try several forms, so none of the forms is required.
        if let before = self.fields[key.stringValue], before.type != type {
            self.fields[key.stringValue] = Field(type: .any, isRequired: before.isRequired && isRequired)
        } else {
            self.fields[key.stringValue] = Field(type: type, isRequired: isRequired)
        }
    }

    mutating func noteQuestion(about key: some CodingKey) {
        self.optionalKeys.insert(key.stringValue)
    }

    mutating func noteElement(_ type: FieldType) {
        guard case .array(let before) = self.shape else { return }
        self.shape = .array(of: before == nil || before == type ? type : .any)
    }

    // MARK: Several runs

    /// Keeps what both runs read in the same way. A key that only one of them reads is optional and may have any value.
    mutating func merge(_ other: SchemaFindings) {
        switch (self.shape, other.shape) {
        case (.array(let element), .array(let more)):
            self.shape = .array(of: element == nil || more == nil || element == more ? element ?? more : .any)
        case (let shape, let another) where shape != another:
            self.shape = .unknown
        default:
            break
        }
        self.optionalKeys.formUnion(other.optionalKeys)
        for name in Set(self.fields.keys).union(other.fields.keys) {
            guard let field = self.fields[name], let another = other.fields[name] else {
                self.fields[name] = Field(type: .any, isRequired: false)
                continue
            }
            self.fields[name] = Field(
                type: field.type == another.type ? field.type : .any,
                isRequired: field.isRequired && another.isRequired
            )
        }
    }

    // MARK: Results

    var schema: AllowedValueSchema {
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

    var fieldType: FieldType {
        switch self.shape {
        case .unknown: .any
        case .scalar(let type): type
        case .array(let element): .array(of: element ?? .any)
        case .dictionary: .dictionary(self.schema)
        }
    }
}
