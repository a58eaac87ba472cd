// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension FieldType: CustomStringConvertible {
    /// The type in words, such as `array of string`.
    public var description: String { self.kind.name }
}

extension FieldType {
    /// Parses text that a user typed for a field of this type; `nil` if it is not a value of the type.
    ///
    /// Dates are written as RFC 3339 or as seconds since 1970, data as base64, collections as JSON. For ``any``, the
    /// result is a string.
    package func value(of text: String) -> Value? {
        self.kind.value(of: text)
    }

    /// Converts a value read from plain JSON for a field of this type, because JSON has no dates or sets and does not
    /// distinguish 1 from 1.0. A value that does not match is returned unchanged, so that validation reports it.
    package func value(fitting json: Value) -> Value {
        self.kind.value(fitting: json)
    }
}

extension FieldType.Kind {
    fileprivate func value(of text: String) -> Value? {
        switch self {
        case .any: .string(text)
        case .number: Self.integer(text) ?? Double(text).map { .double($0) }
        case .scalar(let type): Self.scalar(text, type)
        case .array, .set, .dictionary: (try? Value(json: text)).map { self.value(fitting: $0) }
        }
    }

    private static func scalar(_ text: String, _ type: ValueType) -> Value? {
        switch type {
        case .null: text == "null" ? .null : nil
        case .bool: Bool(text).map { .bool($0) }
        case .integer: Self.integer(text)
        case .double: Double(text).map { .double($0) }
        case .string: .string(text)
        case .data: Data(base64Encoded: text).map { .data($0) }
        case .date: Self.date(text)
        case .uuid: UUID(uuidString: text).map { .uuid($0) }
        case .url: URL(sent: text).map { .url($0) }
        case .array, .set, .dictionary: try? Value(json: text)
        }
    }

    private static func integer(_ text: String) -> Value? {
        Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) }
    }

    private static func date(_ text: String) -> Value? {
        if let seconds = Double(text) { return seconds.isFinite ? .date(secondsSince1970: seconds) : nil }
        return DateText.secondsSince1970(text).map { .date(secondsSince1970: $0) }
    }

    fileprivate func value(fitting json: Value) -> Value {
        switch (self, json) {
        case (.scalar(.double), .integer(let integer)): .double(Double(integer))
        case (.scalar(.data), .string(let text)), (.scalar(.date), .string(let text)),
            (.scalar(.uuid), .string(let text)), (.scalar(.url), .string(let text)):
            self.value(of: text) ?? json
        case (.scalar(.date), .integer(let seconds)): .date(secondsSince1970: Double(seconds))
        case (.scalar(.date), .double(let seconds)): .date(secondsSince1970: seconds)
        case (.array(let element), .array(let array)): .array(array.map { element.value(fitting: $0) })
        case (.set(let element), .array(let array)): .set(Set(array.map { element.value(fitting: $0) }))
        case (.dictionary(let schema), .dictionary(let dictionary)):
            .dictionary(
                ValueSet(
                    dictionary.map { key, value in
                        (key, schema.fields.first { $0.name == key }?.type.value(fitting: value) ?? value)
                    }
                )
            )
        default: json
        }
    }
}
