// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

/// Schemas that are derived from types (issue 8, section 3).
@Suite struct SchemaDerivationTests {
    private enum Size: String, Codable, CaseIterable { case small, large }
    private enum Mood: String, Codable { case good, bad }
    private enum Shape: Codable { case circle(radius: Double), square(side: Double) }

    private struct Line: Codable {
        var product: UUID
        var count: UInt16
    }

    private struct Order: Codable {
        var dish: String
        var portions: Int
        var price: Double
        var isUrgent: Bool
        var wanted: Date
        var picture: Data
        var page: URL
        var notes: [String]?
        var line: Line
        var lines: [Line]
        var tags: Set<String>
        var extra: [String: Int]
        var size: Size
        var mood: Mood?
        var anything: Value
    }

    private static let line = FieldType.dictionary(
        AllowedValueSchema(
            fields: [.required("product", .uuid), .required("count", .integer)],
            allowsFurtherKeys: true,
            basedOn: .full
        )
    )
    private static let anything = FieldType.dictionary(.full)

    private static func schema(_ fields: AllowedValueSchema.Field...) -> AllowedValueSchema {
        AllowedValueSchema(fields: fields, allowsFurtherKeys: true, basedOn: .full)
    }

    @Test func `a type's properties become fields, and optional ones are not required`() {
        #expect(
            AllowedValueSchema(decoding: Order.self)
                == Self.schema(
                    .required("dish", .string),
                    .required("portions", .integer),
                    .required("price", .number),
                    .required("isUrgent", .bool),
                    .required("wanted", .date),
                    .required("picture", .data),
                    .required("page", .url),
                    .optional("notes", .array(of: .string)),
                    .required("line", Self.line),
                    .required("lines", .array(of: Self.line)),
                    .required("tags", .array(of: .string)),
                    .required("extra", Self.anything),
                    .required("size", .string),
                    .optional("mood", .string),
                    .required("anything", .any)
                )
        )
        #expect(AllowedValueSchema(encoding: Order.self) == AllowedValueSchema(decoding: Order.self))
    }

    @Test func `a type's encoding satisfies the derived schema, and decodes again`() throws {
        let order = Order(
            dish: "soup",
            portions: 2,
            price: 3,
            isUrgent: false,
            wanted: Date(timeIntervalSince1970: 5),
            picture: Data([1]),
            page: try #require(URL(string: "https://example.com")),
            notes: nil,
            line: Line(product: UUID(), count: 1),
            lines: [],
            tags: ["a"],
            extra: ["b": 1],
            size: .large,
            mood: .good,
            anything: [1, "two"]
        )
        let message = try ValueSetEncoder().encode(order)
        try AllowedValueSchema(decoding: Order.self).validate(message)
        #expect(try ValueSetDecoder().decode(Order.self, from: message).size == .large)
        var wrong = message
        wrong["portions"] = "two"
        let error = #expect(throws: ValueSetError.self) { try AllowedValueSchema(decoding: Order.self).validate(wrong) }
        #expect(error?.keyPath == "portions")
    }

    @Test func `after a property without a placeholder no further fields are derived`() {
        struct Moody: Codable {
            var first: Int
            var mood: Mood
            var last: String
        }
        #expect(
            AllowedValueSchema(decoding: Moody.self)
                == Self.schema(.required("first", .integer), .required("mood", .string))
        )
        struct Drawing: Codable {
            var name: String
            var shapes: [Shape]
            var size: Size
        }
        // An array can be empty, so the properties after it are found.
        #expect(
            AllowedValueSchema(decoding: Drawing.self)
                == Self.schema(
                    .required("name", .string),
                    .required("shapes", .array(of: Self.anything)),
                    .required("size", .string)
                )
        )
    }

    @Test func `recursive types end`() {
        final class Node: Codable {
            var name: String
            var children: [Node]
            var next: Node?
            init(name: String, children: [Node], next: Node?) {
                (self.name, self.children, self.next) = (name, children, next)
            }
        }
        #expect(
            AllowedValueSchema(decoding: Node.self)
                == Self.schema(
                    .required("name", .string),
                    .required("children", .array(of: .any)),
                    .optional("next", .any)
                )
        )
    }

    @Test func `a custom init(from:) is followed as far as it reads`() {
        struct Either: Decodable {
            private enum Key: CodingKey { case id, kind, nested, flag }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                // Two forms of one key.
                _ = try? container.decode(Int.self, forKey: .id)
                _ = try container.decode(String.self, forKey: .id)
                if container.contains(.kind) { _ = try container.decode(Int.self, forKey: .kind) }
                let nested = try container.nestedContainer(keyedBy: Key.self, forKey: .nested)
                _ = try nested.decode(Bool.self, forKey: .flag)
            }
        }
        #expect(
            AllowedValueSchema(decoding: Either.self)
                == Self.schema(.required("id", .any), .optional("kind", .any), .required("nested", Self.anything))
        )
    }

    /// Checks that the derived schema allows every message that the decoder accepts.
    private static func expectAccepted<T: Codable>(_ type: T.Type, _ messages: ValueSet...) throws {
        for message in messages {
            _ = try ValueSetDecoder().decode(T.self, from: message)
            for schema in [AllowedValueSchema(decoding: T.self), AllowedValueSchema(encoding: T.self)] {
                #expect(throws: Never.self, "\(message)") { try schema.validate(message) }
            }
        }
    }

    @Test func `a single value with several possible forms may be any value`() throws {
        enum Identifier: Codable {
            case number(Int)
            case text(String)
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let number = try? container.decode(Int.self) {
                    self = .number(number)
                } else {
                    self = .text(try container.decode(String.self))
                }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                switch self {
                case .number(let number): try container.encode(number)
                case .text(let text): try container.encode(text)
                }
            }
        }
        /// Always text, so no other type is allowed.
        struct Name: Codable {
            var text: String
            init(from decoder: any Decoder) throws {
                self.text = try decoder.singleValueContainer().decode(String.self)
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self.text)
            }
        }
        struct Message: Codable {
            var id: Identifier
            var all: [Identifier]
            var name: Name
            var perhaps: [Int?]
            var prices: [UUID: Int]
        }
        #expect(
            AllowedValueSchema(decoding: Message.self)
                == Self.schema(
                    .required("id", .any),
                    .required("all", .array(of: .any)),
                    .required("name", .string),
                    .required("perhaps", .array(of: .any)),
                    .required("prices", .array(of: .any))
                )
        )
        try Self.expectAccepted(
            Message.self,
            ["id": "x", "all": [1, "x"], "name": "y", "perhaps": [1, .null], "prices": [.uuid(UUID()), 3]],
            ["id": 1, "all": [], "name": "", "perhaps": [], "prices": []]
        )
    }

    @Test func `a field that depends on a decoded value is optional, and may be any value`() throws {
        struct Versioned: Codable {
            var version: Int
            var text: String
            var count: Int
            private enum Key: CodingKey { case version, text, label, count, amount }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                self.version = try container.decode(Int.self, forKey: .version)
                self.text = try container.decode(String.self, forKey: self.version < 2 ? .text : .label)
                if self.version == 1 {
                    self.count = try container.decode(Int.self, forKey: .count)
                } else {
                    self.count = Int(try container.decode(String.self, forKey: .count)) ?? 0
                }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(self.version, forKey: .version)
                try container.encode(self.text, forKey: self.version < 2 ? .text : .label)
                if self.version == 1 {
                    try container.encode(self.count, forKey: .count)
                } else {
                    try container.encode("\(self.count)", forKey: .count)
                }
            }
        }
        #expect(
            AllowedValueSchema(decoding: Versioned.self)
                == Self.schema(
                    .required("version", .integer),
                    .optional("text", .any),
                    .optional("label", .any),
                    .required("count", .any)
                )
        )
        try Self.expectAccepted(
            Versioned.self,
            ["version": 1, "text": "x", "count": 1],
            ["version": 2, "label": "x", "count": "1"]
        )
    }

    @Test func `a field that a type can omit, or read in another form, is not required`() throws {
        enum Kind: String, Codable, CaseIterable { case one, many }
        struct Tolerant: Codable {
            var kind: Kind
            var level: Int
            var name: String
            var count: Int
            private enum CodingKeys: String, CodingKey { case kind, level, name, alias, nothing, count }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                self.kind = try container.decode(Kind.self, forKey: .kind)
                self.level = (try? container.decode(Int.self, forKey: .level)) ?? 5
                if container.contains(.alias) {
                    self.name = try container.decode(String.self, forKey: .alias)
                } else {
                    self.name = try container.decode(String.self, forKey: .name)
                }
                self.count =
                    switch self.kind {
                    case .one: 1
                    case .many: try container.decode(Int.self, forKey: .count)
                    }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(self.kind, forKey: .kind)
                try container.encode(self.level, forKey: .level)
                try container.encode(self.name, forKey: .name)
            }
        }
        #expect(
            AllowedValueSchema(decoding: Tolerant.self)
                == Self.schema(
                    .required("kind", .string),
                    .optional("level", .any),
                    .optional("alias", .any),
                    .optional("name", .any),
                    .optional("count", .any)
                )
        )
        try Self.expectAccepted(
            Tolerant.self,
            ["kind": "one", "level": "high", "name": "x"],
            ["kind": "many", "alias": "x", "count": 2]
        )
    }

    @Test func `a type that is not decoded from a dictionary, or only encoded, is not restricted`() {
        struct Written: Encodable { var text: String }
        #expect(AllowedValueSchema(decoding: [Int].self) == .full)
        #expect(AllowedValueSchema(decoding: Int.self) == .full)
        #expect(AllowedValueSchema(decoding: ValueSet.self) == .full)
        #expect(AllowedValueSchema(encoding: Written.self) == .full)
    }

    @Test func `a type may provide its own schema, also inside another type`() {
        struct Volume: Codable, AllowedValueSchemaProviding {
            var level: Double
            static let allowedValueSchema = AllowedValueSchema(fields: [.required("level", .double)])
        }
        struct Both: Codable {
            var left: Volume
            var right: Volume?
        }
        #expect(AllowedValueSchema(decoding: Volume.self) == Volume.allowedValueSchema)
        #expect(AllowedValueSchema(encoding: Volume.self) == Volume.allowedValueSchema)
        let volume = FieldType.dictionary(Volume.allowedValueSchema)
        #expect(
            AllowedValueSchema(decoding: Both.self)
                == Self.schema(.required("left", volume), .optional("right", volume))
        )
    }
}
