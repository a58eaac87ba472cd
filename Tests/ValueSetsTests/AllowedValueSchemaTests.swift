// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

@Suite struct AllowedValueSchemaTests {
    static let url = URL(string: "https://example.com/").map(Value.url) ?? .null

    // R-37
    static let appServiceAllowed: [Value] = [
        "text", 1, -1, .unsigned(.max), 1.5, true, .date(secondsSince1970: 1), .uuid(UUID()), [],
        [1, 2.5, .unsigned(.max)],
        ["a", "b"], [true, false], [.date(secondsSince1970: 1)], [.uuid(UUID())], [:], ["nested": ["deeper": [1]]],
    ]
    static let appServiceRefused: [(value: Value, keyPath: String, found: String)] = [
        (.null, "k", "null"), (.data(Data()), "k", "data"), (url, "k", "url"), (.set([1]), "k", "set"),
        ([1, "a"], "k[1]", "string"), ([1, true], "k[1]", "bool"), ([[1]], "k[0]", "array"),
        ([["a": 1]], "k[0]", "dictionary"),
        ([.null], "k[0]", "null"), (["nested": ["list": [1, 2, .uuid(UUID())]]], "k.nested.list[2]", "uuid"),
    ]

    @Test(arguments: appServiceAllowed)
    func `R-37: an app service accepts`(_ value: Value) throws {
        try AllowedValueSchema.appService.validate(["k": value])
    }

    @Test(arguments: appServiceRefused)
    func `R-37: an app service refuses`(_ example: (value: Value, keyPath: String, found: String)) {
        let error = #expect(throws: ValueSetError.self) {
            try AllowedValueSchema.appService.validate(["k": example.value])
        }
        #expect(error?.code == .typeMismatch)
        #expect(error?.keyPath == example.keyPath)
        #expect(error?.found == example.found)
        #expect(error?.allowed?.isEmpty == false)
        #expect(error?.message.contains("basedOn: .full") == true, "It says how to allow it.")
    }

    @Test func `a misspelt key is reported with the probable one`() {
        let schema = AllowedValueSchema(fields: [.optional("Volume", .number), .optional("Room", .string)])
        let error = #expect(throws: ValueSetError.self) { try schema.validate(["Volmue": 1]) }
        #expect(error?.message.contains("Did you mean \"Volume\"?") == true)
        let other = #expect(throws: ValueSetError.self) { try schema.validate(["Zzz": 1]) }
        #expect(other?.message.contains("Did you mean") == false)
    }

    // H-27
    @Test(
        arguments: [
            [1, "a", .null], .data(Data([1])), .date(secondsSince1970: 1), ["a": ["b": .null]], .null, 1, 1.5, true,
            .set([1, "a"]), "text",
            url, [[["a": [1]]]],
        ] as [Value]
    )
    func `H-27: a user activity accepts`(_ value: Value) throws {
        try AllowedValueSchema.userActivity.validate(["k": value])
    }

    @Test(
        arguments: [
            (.uuid(UUID()), "k"), ([1, .uuid(UUID())], "k[1]"), (.set([.uuid(UUID())]), "k"),
            (["a": [["b": .uuid(UUID())]]], "k.a[0].b"),
        ] as [(Value, String)]
    )
    func `H-27: a user activity refuses a UUID`(_ value: Value, _ keyPath: String) {
        let error = #expect(throws: ValueSetError.self) { try AllowedValueSchema.userActivity.validate(["k": value]) }
        #expect(error?.keyPath == keyPath)
        #expect(error?.found == "uuid")
    }

    @Test func `the full schema accepts every value`() throws {
        var generator = ValueGenerator(seed: 7)
        for _ in 0..<50 { try AllowedValueSchema.full.validate(generator.set()) }
    }

    static let play = AllowedValueSchema(fields: [
        .required("type", .string),
        .required("track", .integer),
        .optional("volume", .number),
        .optional("tags", .array(of: .string)),
        .optional("when", .date),
        .optional("extra", .any),
        .optional(
            "player",
            .dictionary(
                AllowedValueSchema(fields: [.required("id", .uuid), .optional("on", .bool)], allowsFurtherKeys: true)
            )
        ),
    ])

    @Test func `a message of the declared fields is allowed`() throws {
        try Self.play.validate(["type": "play", "track": 3])
        try Self.play.validate([
            "type": "play", "track": 3, "volume": 1, "tags": ["a"], "when": .date(secondsSince1970: 0), "extra": [1],
            "player": ["id": .uuid(UUID()), "further": "x"],
        ])
    }

    @Test(
        arguments: [
            (["type": "play"], .missingKey, "track"),
            ([:], .missingKey, "type"),
            (["type": "play", "track": 3, "volumes": 1], .unexpectedKey, "volumes"),
            (["type": "play", "track": 3.5], .typeMismatch, "track"),
            (["type": "play", "track": 3, "tags": ["a", 1]], .typeMismatch, "tags[1]"),
            (["type": "play", "track": 3, "tags": "a"], .typeMismatch, "tags"),
            (["type": "play", "track": 3, "extra": .null], .typeMismatch, "extra"),
            (["type": "play", "track": 3, "player": [:]], .missingKey, "player.id"),
            (["type": "play", "track": 3, "player": ["id": "x"]], .typeMismatch, "player.id"),
            (
                ["type": "play", "track": 3, "player": ["id": .uuid(UUID()), "more": .null]], .typeMismatch,
                "player.more"
            ),
        ] as [(ValueSet, ValueSetError.Code, String)]
    )
    func `a message that violates the declaration is refused`(
        _ set: ValueSet,
        _ code: ValueSetError.Code,
        _ keyPath: String
    ) {
        let error = #expect(throws: ValueSetError.self) { try Self.play.validate(set) }
        #expect(error?.code == code)
        #expect(error?.keyPath == keyPath)
    }

    @Test func `an unexpected key is reported with the declared ones`() {
        let error = #expect(throws: ValueSetError.self) {
            try AllowedValueSchema(fields: [.optional("volume", .number)]).validate(["volum": 1])
        }
        #expect(error?.allowed == #""volume""#)
    }

    @Test(arguments: [
        play, .appService, .userActivity, .full,
        AllowedValueSchema(fields: [.required("s", .set(of: .url))], basedOn: .full),
    ])
    func `a schema survives publishing`(_ schema: AllowedValueSchema) throws {
        let published = try schema.valueSet.encoded()
        #expect(published.count < 8 * 1024)
        #expect(try AllowedValueSchema(ValueSet(encoded: published)) == schema)
    }

    @Test func `additions of a later version refuse no message`() throws {
        let schema = try AllowedValueSchema([
            "base": "quantum", "since": 9, "furtherKeys": true,
            "fields": [
                "a": ["type": "tensor", "shape": [1, 2]], "b": ["type": "array", "of": ["type": "tensor"]], "c": [:],
            ],
        ])
        try schema.validate(["a": .null, "b": [.null, 1], "c": .set([1]), "d": .data(Data())])
        #expect(throws: ValueSetError.self) { try schema.validate(["b": 1]) }
    }

    @Test(
        arguments: [
            (["base": 1], "base"), (["fields": []], "fields"), (["fields": ["a": 1]], "fields.a"),
            (["fields": ["a": ["type": 1]]], "fields.a.type"),
            (["fields": ["a": ["required": 1]]], "fields.a.required"),
            (["fields": ["a": ["type": "array", "of": ["type": "array", "of": 1]]]], "fields.a.of.of"),
            (["fields": ["a": ["type": "dictionary", "fields": ["b": 2]]]], "fields.a.fields.b"),
        ] as [(ValueSet, String)]
    )
    func `a damaged schema is refused with its key path`(_ set: ValueSet, _ keyPath: String) {
        let error = #expect(throws: ValueSetError.self) { try AllowedValueSchema(set) }
        #expect(error?.code == .invalidSchema)
        #expect(error?.keyPath == keyPath)
    }
}
