// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A `Decoder` that records what a type reads and returns placeholders.
struct SchemaDecoder: Decoder {
    let probe: SchemaProbe

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try self.probe.beginDictionary()
        return KeyedDecodingContainer(KeyedProbe<Key>(probe: self.probe))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try self.probe.beginArray()
        return UnkeyedProbe(probe: self.probe)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleProbe(probe: self.probe)
    }
}

private struct KeyedProbe<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let probe: SchemaProbe

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    private var number: Int8 { self.probe.placeholders.number }

    func contains(_ key: Key) -> Bool { self.probe.question(about: key) }
    func decodeNil(forKey key: Key) -> Bool { !self.probe.question(about: key) }

    private func required<T>(_ key: Key, _ type: FieldType, _ value: T) throws -> T {
        try self.probe.note(key, type, isRequired: true)
        return value
    }

    private func integer<T: FixedWidthInteger>(_ key: Key) throws -> T {
        try self.required(key, .integer, T(self.number))
    }

    private func optional<T>(_ key: Key, _ type: FieldType, _ value: T?) throws -> T? {
        try self.probe.note(key, type, isRequired: false)
        // Present in every other run, to find what the type reads if the key is absent.
        return self.probe.placeholders.index.isMultiple(of: 2) ? nil : value
    }

    private func optionalInteger<T: FixedWidthInteger>(_ key: Key) throws -> T? {
        try self.optional(key, .integer, T(self.number))
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try self.required(key, .bool, self.probe.placeholders.flag)
    }
    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try self.required(key, .string, self.probe.placeholders.text)
    }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try self.required(key, .number, Double(self.number))
    }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try self.required(key, .number, Float(self.number))
    }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try self.integer(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try self.integer(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try self.integer(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try self.integer(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try self.integer(key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try self.integer(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try self.integer(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try self.integer(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try self.integer(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try self.integer(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try self.integer(key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try self.integer(key) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let (field, value) = self.probe.nested(type)
        try self.probe.note(key, field, isRequired: true)
        guard let value else { throw SchemaProbe.NoPlaceholder() }
        return value
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try self.optional(key, .bool, self.probe.placeholders.flag)
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try self.optional(key, .string, self.probe.placeholders.text)
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try self.optional(key, .number, Double(self.number))
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try self.optional(key, .number, Float(self.number))
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try self.optionalInteger(key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try self.optionalInteger(key) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        let (field, value) = self.probe.nested(type)
        return try self.optional(key, field, value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(KeyedProbe<NestedKey>(probe: try self.child(key, isArray: false)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        UnkeyedProbe(probe: try self.child(key, isArray: true))
    }

    private func child(_ key: some CodingKey, isArray: Bool) throws -> SchemaProbe {
        try self.probe.child({ try self.probe.note(key, $0, isRequired: true) }, isArray: isArray)
    }

    func superDecoder() throws -> any Decoder {
        SchemaDecoder(probe: try self.child(IndexKey.super, isArray: false))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        SchemaDecoder(probe: try self.child(key, isArray: false))
    }
}

private struct UnkeyedProbe: UnkeyedDecodingContainer {
    let probe: SchemaProbe
    private(set) var currentIndex = 0

    init(probe: SchemaProbe) {
        self.probe = probe
    }

    var codingPath: [any CodingKey] { [] }
    var count: Int? { nil }
    var isAtEnd: Bool { !self.probe.hasElements }

    private mutating func element<T>(_ type: FieldType, _ value: T?) throws -> T {
        try self.probe.noteElement(type)
        self.currentIndex += 1
        guard let value else { throw SchemaProbe.NoPlaceholder() }
        return value
    }

    mutating func decodeNil() -> Bool { !self.probe.placeholders.isPresent }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let (field, value) = self.probe.nested(type)
        return try self.element(field, value)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(KeyedProbe<NestedKey>(probe: try self.child(isArray: false)))
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        UnkeyedProbe(probe: try self.child(isArray: true))
    }

    mutating func superDecoder() throws -> any Decoder { SchemaDecoder(probe: try self.child(isArray: false)) }

    private mutating func child(isArray: Bool) throws -> SchemaProbe {
        self.currentIndex += 1
        return try self.probe.child({ try self.probe.noteElement($0) }, isArray: isArray)
    }
}

private struct SingleProbe: SingleValueDecodingContainer {
    let probe: SchemaProbe

    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { !self.probe.placeholders.isPresent }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try self.probe.single(type) }
}
