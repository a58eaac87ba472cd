// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The allowed type of a declared field's value.
public struct FieldType: Sendable, Hashable {
    /// The form of a field type: any value, one scalar type, a number, or a collection.
    indirect enum Kind: Sendable, Hashable {
        case any, number
        case scalar(ValueType)
        case array(of: Kind)
        case set(of: Kind)
        case dictionary(AllowedValueSchema)
    }

    let kind: Kind

    /// Any value that the rule of the schema (``AllowedValueSchema/init(fields:allowsFurtherKeys:basedOn:)``) allows.
    public static let any = FieldType(kind: .any)
    /// Only ``Value/null``.
    public static let null = FieldType(kind: .scalar(.null))
    /// Booleans (``Value/bool(_:)``).
    public static let bool = FieldType(kind: .scalar(.bool))
    /// Integers (``Value/integer(_:)`` and ``Value/unsigned(_:)``).
    public static let integer = FieldType(kind: .scalar(.integer))
    /// Floating-point numbers (``Value/double(_:)``). Integers are not allowed; see ``number``.
    public static let double = FieldType(kind: .scalar(.double))
    /// Integers and floating-point numbers.
    public static let number = FieldType(kind: .number)
    /// Strings (``Value/string(_:)``).
    public static let string = FieldType(kind: .scalar(.string))
    /// Bytes (``Value/data(_:)``).
    public static let data = FieldType(kind: .scalar(.data))
    /// Points in time (``Value/date(secondsSince1970:)``).
    public static let date = FieldType(kind: .scalar(.date))
    /// Universally unique identifiers (``Value/uuid(_:)``).
    public static let uuid = FieldType(kind: .scalar(.uuid))
    /// URLs (``Value/url(_:)``).
    public static let url = FieldType(kind: .scalar(.url))

    /// An array whose elements are all of one type.
    ///
    /// - Parameter element: The type of the elements.
    public static func array(of element: FieldType) -> FieldType {
        FieldType(kind: .array(of: element.kind))
    }

    /// A set whose elements are all of one type.
    ///
    /// - Parameter element: The type of the elements.
    public static func set(of element: FieldType) -> FieldType {
        FieldType(kind: .set(of: element.kind))
    }

    /// A nested dictionary with declared keys.
    ///
    /// - Parameter schema: The declared keys. The rule on which this schema is based is ignored: the rule of the
    ///   outermost schema applies.
    public static func dictionary(_ schema: AllowedValueSchema) -> FieldType {
        FieldType(kind: .dictionary(schema.nested))
    }
}

extension FieldType.Kind {
    /// The name used in errors.
    var name: String {
        switch self {
        case .any: "any"
        case .number: "number"
        case .scalar(let type): type.rawValue
        case .array(let element): "array of \(element.name)"
        case .set(let element): "set of \(element.name)"
        case .dictionary: "dictionary"
        }
    }
}
