// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The `Decoder` that notes what a type reads in place of reading it.
struct SchemaDecoder: Decoder {
    let probe: SchemaProbe

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        self.probe.beginDictionary()
        return KeyedDecodingContainer(KeyedProbe<Key>(probe: self.probe))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer {
        self.probe.beginArray()
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

    func contains(_ key: Key) -> Bool {
        self.probe.noteQuestion(about: key)
        return true
    }

    func decodeNil(forKey key: Key) -> Bool {
        self.probe.noteQuestion(about: key)
        return false
    }

    private func required<T>(_ key: Key, _ type: FieldType, _ value: T) -> T {
        self.probe.note(key, type, isRequired: true)
        return value
    }

    private func optional<T>(_ key: Key, _ type: FieldType) -> T? {
        self.probe.note(key, type, isRequired: false)
        return nil
    }

    func decode(_ type: Bool.Type, forKey key: Key) -> Bool { required(key, .bool, false) }
    func decode(_ type: String.Type, forKey key: Key) -> String { required(key, .string, "") }
    func decode(_ type: Double.Type, forKey key: Key) -> Double { required(key, .number, 0) }
    func decode(_ type: Float.Type, forKey key: Key) -> Float { required(key, .number, 0) }
    func decode(_ type: Int.Type, forKey key: Key) -> Int { required(key, .integer, 0) }
    func decode(_ type: Int8.Type, forKey key: Key) -> Int8 { required(key, .integer, 0) }
    func decode(_ type: Int16.Type, forKey key: Key) -> Int16 { required(key, .integer, 0) }
    func decode(_ type: Int32.Type, forKey key: Key) -> Int32 { required(key, .integer, 0) }
    func decode(_ type: Int64.Type, forKey key: Key) -> Int64 { required(key, .integer, 0) }
    func decode(_ type: Int128.Type, forKey key: Key) -> Int128 { required(key, .integer, 0) }
    func decode(_ type: UInt.Type, forKey key: Key) -> UInt { required(key, .integer, 0) }
    func decode(_ type: UInt8.Type, forKey key: Key) -> UInt8 { required(key, .integer, 0) }
    func decode(_ type: UInt16.Type, forKey key: Key) -> UInt16 { required(key, .integer, 0) }
    func decode(_ type: UInt32.Type, forKey key: Key) -> UInt32 { required(key, .integer, 0) }
    func decode(_ type: UInt64.Type, forKey key: Key) -> UInt64 { required(key, .integer, 0) }
    func decode(_ type: UInt128.Type, forKey key: Key) -> UInt128 { required(key, .integer, 0) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let (field, value) = self.probe.nested(type)
        self.probe.note(key, field, isRequired: true)
        guard let value else { throw SchemaProbe.NoPlaceholder() }
        return value
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) -> Bool? { optional(key, .bool) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) -> String? { optional(key, .string) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) -> Double? { optional(key, .number) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) -> Float? { optional(key, .number) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) -> Int? { optional(key, .integer) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) -> Int8? { optional(key, .integer) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) -> Int16? { optional(key, .integer) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) -> Int32? { optional(key, .integer) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) -> Int64? { optional(key, .integer) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) -> Int128? { optional(key, .integer) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) -> UInt? { optional(key, .integer) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) -> UInt8? { optional(key, .integer) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) -> UInt16? { optional(key, .integer) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) -> UInt32? { optional(key, .integer) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) -> UInt64? { optional(key, .integer) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) -> UInt128? { optional(key, .integer) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) -> T? {
        optional(key, self.probe.nested(type).type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(KeyedProbe<NestedKey>(probe: self.child(key, isArray: false)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
        UnkeyedProbe(probe: self.child(key, isArray: true))
    }

    /// What is inside is not looked into: only the type knows when it is complete.
    private func child(_ key: some CodingKey, isArray: Bool) -> SchemaProbe {
        self.probe.child({ self.probe.note(key, $0, isRequired: true) }, isArray: isArray)
    }

    func superDecoder() -> any Decoder { SchemaDecoder(probe: self.child(IndexKey.super, isArray: false)) }
    func superDecoder(forKey key: Key) -> any Decoder { SchemaDecoder(probe: self.child(key, isArray: false)) }
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
        self.probe.noteElement(type)
        self.currentIndex += 1
        guard let value else { throw SchemaProbe.NoPlaceholder() }
        return value
    }

    mutating func decodeNil() -> Bool { false }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let (field, value) = self.probe.nested(type)
        return try self.element(field, value)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(KeyedProbe<NestedKey>(probe: self.child(isArray: false)))
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        UnkeyedProbe(probe: self.child(isArray: true))
    }

    mutating func superDecoder() throws -> any Decoder { SchemaDecoder(probe: self.child(isArray: false)) }

    private mutating func child(isArray: Bool) -> SchemaProbe {
        self.currentIndex += 1
        return self.probe.child({ self.probe.noteElement($0) }, isArray: isArray)
    }
}

private struct SingleProbe: SingleValueDecodingContainer {
    let probe: SchemaProbe

    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { false }
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let (field, value) = self.probe.nested(type)
        self.probe.note(field)
        guard let value else { throw SchemaProbe.NoPlaceholder() }
        return value
    }
}
