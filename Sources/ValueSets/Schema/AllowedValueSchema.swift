// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Says which values may be used in one place: a profile that holds for everything, and, if declared, the fields of a
/// message.
///
/// The same schema is applied on sending and on receipt. A service can publish a schema of its own messages, so that a
/// caller is told before it sends:
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
    /// The rule that every value performs, declared as a field or not.
    enum Profile: String, Sendable, Hashable {
        case appService, userActivity, full
    }

    /// A declared key.
    public struct Field: Sendable, Hashable {
        /// The key.
        public let name: String
        /// What its value may be.
        public let type: FieldType
        /// Whether the key must be there.
        public let isRequired: Bool

        /// A key that must be there.
        public static func required(_ name: String, _ type: FieldType) -> Field {
            Field(name: name, type: type, isRequired: true)
        }

        /// A key that may be left out.
        public static func optional(_ name: String, _ type: FieldType) -> Field {
            Field(name: name, type: type, isRequired: false)
        }
    }

    private(set) var profile: Profile
    /// The declared keys, each once, in the order in which they are encoded (shorter ones first), so that they are matched
    /// with a set's entries in one pass.
    public let fields: [Field]

    /// Whether keys that are not declared are allowed.
    public let allowsFurtherKeys: Bool

    /// What app-service messages may hold: strings, numbers, booleans, dates and UUIDs; arrays of one of these types,
    /// integers and doubles counting as one; dictionaries of the same.
    public static let appService = AllowedValueSchema(profile: .appService, fields: [], allowsFurtherKeys: true)

    /// What a user activity may hold: arrays, data, dates, dictionaries, null, numbers and booleans, sets, strings
    /// and URLs.
    public static let userActivity = AllowedValueSchema(profile: .userActivity, fields: [], allowsFurtherKeys: true)

    /// Every value.
    public static let full = AllowedValueSchema(profile: .full, fields: [], allowsFurtherKeys: true)

    /// A schema of one kind of message.
    ///
    /// - Parameters:
    ///   - fields: The declared keys. If a name is declared twice, the last counts.
    ///   - allowsFurtherKeys: Whether keys that are not declared are allowed; no by default.
    ///   - base: The schema whose rule holds for all values on top of the declared types; ``appService`` by default.
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

    /// The same declarations as part of another schema, whose base holds for them.
    var nested: AllowedValueSchema {
        var nested = self
        nested.profile = .full
        return nested
    }
}
