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

    @Test func `a type's properties become fields, optional ones such that may be left out`() {
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

    @Test func `what a type encodes satisfies the schema that is derived from it, and decodes again`() throws {
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

    @Test func `behind a property for which there is no placeholder everything is allowed`() {
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
        // An array can be empty, so that what is behind it is seen.
        #expect(
            AllowedValueSchema(decoding: Drawing.self)
                == Self.schema(
                    .required("name", .string),
                    .required("shapes", .array(of: Self.anything)),
                    .required("size", .string)
                )
        )
    }

    @Test func `types that contain themselves end`() {
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

    @Test func `init(from:) of a type's own is followed as far as it reads`() {
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
                == Self.schema(.required("id", .any), .optional("kind", .integer), .required("nested", Self.anything))
        )
    }

    @Test func `a type that is not decoded from a dictionary, or only encoded, is not restricted`() {
        struct Written: Encodable { var text: String }
        #expect(AllowedValueSchema(decoding: [Int].self) == .full)
        #expect(AllowedValueSchema(decoding: Int.self) == .full)
        #expect(AllowedValueSchema(decoding: ValueSet.self) == .full)
        #expect(AllowedValueSchema(encoding: Written.self) == .full)
    }

    @Test func `a type may say itself what its messages look like, also inside another one`() {
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
