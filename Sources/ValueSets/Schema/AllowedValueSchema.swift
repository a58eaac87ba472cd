// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A description of the values that may be used in one place: a rule for all values and, if declared, the keys of a
/// message.
///
/// The same schema is applied when sending and when receiving. A service can publish the schema of its messages, so
/// that a caller gets the error before it sends:
///
/// ```swift
/// let schema = AllowedValueSchema(fields: [
///     .required("Type", .string),
///     .required("Track", .integer),
///     .optional("Tags", .array(of: .string)),
/// ])
/// try schema.validate(["Type": "play", "Track": 3])
/// ```
public struct AllowedValueSchema: Sendable, Hashable {
    /// The rule that applies to every value, whether declared as a field or not.
    enum Profile: String, Sendable, Hashable {
        case appService, userActivity, full
    }

    /// A declared key of a message, with the allowed values.
    public struct Field: Sendable, Hashable {
        /// The declared key.
        public let name: String
        /// The allowed values for the key.
        public let type: FieldType
        /// Whether the key must be present.
        public let isRequired: Bool

        /// Declares a key that must be present.
        ///
        /// - Parameters:
        ///   - name: The key.
        ///   - type: The allowed values.
        public static func required(_ name: String, _ type: FieldType) -> Field {
            Field(name: name, type: type, isRequired: true)
        }

        /// Declares a key that may be absent.
        ///
        /// - Parameters:
        ///   - name: The key.
        ///   - type: The allowed values, if the key is present.
        public static func optional(_ name: String, _ type: FieldType) -> Field {
            Field(name: name, type: type, isRequired: false)
        }
    }

    private(set) var profile: Profile
    /// The declared keys, without duplicates, in the order in which they are encoded (shorter keys first).
    ///
    /// In this order, one pass compares them with a value set's entries.
    public let fields: [Field]

    /// Whether keys that are not in ``fields`` are allowed.
    public let allowsFurtherKeys: Bool

    /// The values allowed in app-service messages: strings, numbers, booleans, dates and UUIDs; arrays of one of these
    /// types, where integers and doubles count as one type; dictionaries of all of these.
    public static let appService = AllowedValueSchema(profile: .appService, fields: [], allowsFurtherKeys: true)

    /// The values allowed in a user activity: arrays, data, dates, dictionaries, null, numbers and booleans, sets,
    /// strings and URLs.
    public static let userActivity = AllowedValueSchema(profile: .userActivity, fields: [], allowsFurtherKeys: true)

    /// All values, of every type.
    public static let full = AllowedValueSchema(profile: .full, fields: [], allowsFurtherKeys: true)

    /// Creates a schema for one kind of message.
    ///
    /// - Parameters:
    ///   - fields: The declared keys. If a name is declared twice, the last declaration applies.
    ///   - allowsFurtherKeys: Whether keys that are not declared are allowed. Defaults to `false`.
    ///   - base: The schema whose rule applies to all values in addition to the declared types. Defaults to
    ///     ``appService``.
    public init(
        fields: [Field],
        allowsFurtherKeys: Bool = false,
        basedOn base: AllowedValueSchema = .appService
    ) {
        self.init(profile: base.profile, fields: fields, allowsFurtherKeys: allowsFurtherKeys)
    }

    init(profile: Profile, fields: [Field], allowsFurtherKeys: Bool) {
        var sorted: [Field] = []
        for field in fields.enumerated().sorted(by: { left, right in
            let order = left.element.name.canonicalOrder(to: right.element.name)
            return order != 0 ? order < 0 : left.offset < right.offset
        }).map(\.element) {
            if let last = sorted.last, last.name.hasSameUTF8(as: field.name) { sorted.removeLast() }
            sorted.append(field)
        }
        self.profile = profile
        self.fields = sorted
        self.allowsFurtherKeys = allowsFurtherKeys
    }

    /// Returns these declarations as part of another schema, whose rule for all values then applies.
    var nested: AllowedValueSchema {
        var nested = self
        nested.profile = .full
        return nested
    }
}
