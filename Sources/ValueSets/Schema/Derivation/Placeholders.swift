// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The values supplied in place of real ones in one run of a type's `init(from:)`.
///
/// The runs use different values, so that a type that branches on them shows more than one branch.
struct Placeholders {
    static let all = [
        Placeholders(index: 0, number: 0, text: "", flag: false, isPresent: true),
        Placeholders(index: 1, number: 1, text: "x", flag: true, isPresent: false),
        Placeholders(index: 2, number: 2, text: "1", flag: true, isPresent: true),
        Placeholders(index: 3, number: 100, text: "xx", flag: false, isPresent: true),
    ]

    let index: Int
    let number: Int8
    let text: String
    let flag: Bool
    /// Whether keys that the type asks about are present and not null, and whether arrays have elements.
    let isPresent: Bool

    /// The field type and placeholder for types that have a counterpart in ``Value`` or are written as one.
    func known<T>(_ type: T.Type) -> (type: FieldType, value: T?)? {
        for (known, field, value) in self.table where known == type { return (field, value as? T) }
        return nil
    }

    private var table: [(any Any.Type, FieldType, Any?)] {
        [
            (Date.self, .date, Date(timeIntervalSince1970: Double(self.number))), (UUID.self, .uuid, UUID()),
            (Data.self, .data, Data()), (URL.self, .url, URL(string: "placeholder:\(self.text)")),
            (Value.self, .any, self.value), (ValueSet.self, .dictionary(.full), ValueSet()),
            (String.self, .string, self.text), (Bool.self, .bool, self.flag),
            (Double.self, .number, Double(self.number)), (Float.self, .number, Float(self.number)),
            (Int.self, .integer, Int(self.number)),
        ]
    }

    private var value: Value {
        switch self.index {
        case 0: .null
        case 1: .integer(1)
        case 2: .string(self.text)
        default: .dictionary([:])
        }
    }

    /// A case of an enumeration that is `CaseIterable`. Its raw values cannot be guessed.
    func enumerationCase<T>(of type: T.Type) -> T? {
        func pick<Cases: CaseIterable>(_ type: Cases.Type) -> Any? {
            let cases = Array(type.allCases)
            return cases.isEmpty ? nil : cases[self.index % cases.count]
        }
        guard let type = type as? any CaseIterable.Type else { return nil }
        return pick(type) as? T
    }
}
