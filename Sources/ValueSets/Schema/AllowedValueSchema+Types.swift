// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A type that says itself what its messages look like, where that cannot be derived from how it is decoded, or should
/// be narrower.
public protocol AllowedValueSchemaProviding {
    /// What a message of the type must look like.
    static var allowedValueSchema: AllowedValueSchema { get }
}

extension AllowedValueSchema {
    /// The schema of the messages that a type can be decoded from by ``ValueSetDecoder``.
    ///
    /// A type that is ``AllowedValueSchemaProviding`` says it itself. Of any other type the `init(from:)` is run
    /// several times with a decoder that gives placeholders (0, the empty string, the first case of an enumeration;
    /// then 1, a letter, the second case) and notes what is read:
    ///
    /// ```swift
    /// struct Order: Codable { var dish: String; var portions: Int; var notes: [String]? }
    /// // required("dish", .string), required("portions", .integer), optional("notes", .array(of: .string))
    /// let schema = AllowedValueSchema(decoding: Order.self)
    /// ```
    ///
    /// - Keys that are read with `decodeIfPresent`, as those of optional properties are, may be left out. They may not
    ///   be null.
    /// - Floating-point numbers may be sent as integers, too.
    /// - Further keys are allowed, since decoding passes over them.
    /// - What cannot be derived is accepted as any value: an enumeration with associated values, the elements of a
    ///   nested container that `init(from:)` opens itself, and everything behind the first property for which there is
    ///   no placeholder, such as an enumeration that is not `CaseIterable`, or a type whose `init(from:)` refuses
    ///   placeholders.
    /// - A type that is not decoded from a dictionary has the schema ``full``.
    ///
    /// The schema is exact only for conformances that the compiler makes. Of an `init(from:)` written by hand, what one
    /// run reads and another does not becomes optional and may be any value, and so does a value that it can do without
    /// (`try?`). A branch that no placeholder leads to stays unseen, such as one for a certain text: the schema may
    /// then require keys that only the other branch reads. Make such a type ``AllowedValueSchemaProviding``, or give
    /// its service a schema.
    ///
    /// - Warning: `init(from:)` runs here, with placeholders. It must throw for a value that it does not take; a
    ///   precondition that does not hold, for the empty string, say, ends the program.
    ///
    /// - Parameter type: the type that messages are decoded to.
    public init<T: Decodable>(decoding type: T.Type) {
        self = ProbedTypes.schema(of: type) ?? .full
    }

    /// The schema of the messages that values of a type are encoded to: as of ``init(decoding:)`` if the type can be
    /// decoded as well, which supposes that it reads what it writes; ``full`` for one that cannot.
    ///
    /// - Parameter type: the type that messages are encoded from.
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
