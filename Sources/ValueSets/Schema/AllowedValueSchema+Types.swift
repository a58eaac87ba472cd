// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A type that declares the schema of its messages itself.
///
/// Conform to this protocol if the schema cannot be derived from the type's decoding
/// (``AllowedValueSchema/init(decoding:)``), or should be narrower.
public protocol AllowedValueSchemaProviding {
    /// The schema of the type's messages.
    static var allowedValueSchema: AllowedValueSchema { get }
}

extension AllowedValueSchema {
    /// Derives the schema of the messages from which ``ValueSetDecoder`` can decode a type.
    ///
    /// A type that is ``AllowedValueSchemaProviding`` provides its own schema. For any other type, `init(from:)` is run
    /// several times with a decoder that supplies placeholders (0, the empty string, the first case of an enumeration;
    /// then 1, a letter, the second case) and records what is read:
    ///
    /// ```swift
    /// struct Order: Codable { var dish: String; var portions: Int; var notes: [String]? }
    /// // required("dish", .string), required("portions", .integer), optional("notes", .array(of: .string))
    /// let schema = AllowedValueSchema(decoding: Order.self)
    /// ```
    ///
    /// - Keys that are read with `decodeIfPresent`, such as those of optional properties, are optional. They may not be
    ///   null.
    /// - Floating-point numbers may also be sent as integers.
    /// - Further keys are allowed, because decoding ignores them.
    /// - Parts that cannot be derived accept any value. These are an enumeration with associated values, the elements
    ///   of a nested container that `init(from:)` opens itself, and everything after the first property without a
    ///   placeholder. A property has no placeholder if its type is an enumeration that is not `CaseIterable`, for
    ///   example, or a type whose `init(from:)` refuses placeholders.
    /// - A type that is not decoded from a dictionary has the schema ``full``.
    ///
    /// The schema is exact only for conformances that the compiler synthesises. For a handwritten `init(from:)`, a key
    /// that only some of the runs read becomes optional and may have any value. The same applies to a value that
    /// decoding can do without (`try?`). A branch that no placeholder reaches is not found, such as a branch for one
    /// specific text. The schema may then require keys that only the other branch reads. Make such a type
    /// ``AllowedValueSchemaProviding``, or give its service a schema.
    ///
    /// - Warning: This runs `init(from:)` with placeholders. It must throw for a value that it does not accept. A
    ///   failed precondition, for the empty string for example, ends the program.
    ///
    /// - Parameter type: The type that messages are decoded to.
    public init<T: Decodable>(decoding type: T.Type) {
        self = ProbedTypes.schema(of: type) ?? .full
    }

    /// Derives the schema of the messages to which values of a type are encoded.
    ///
    /// A type that can be decoded as well has the schema of ``init(decoding:)``, on the assumption that it reads what
    /// it writes. Any other type has the schema ``full``.
    ///
    /// - Parameter type: The type that messages are encoded from.
    public init<T: Encodable>(encoding type: T.Type) {
        if let described = type as? any AllowedValueSchemaProviding.Type {
            self = described.allowedValueSchema
        } else if let decodable = type as? any Decodable.Type {
            self.init(decoding: decodable)
        } else {
            self = .full
        }
    }
}
