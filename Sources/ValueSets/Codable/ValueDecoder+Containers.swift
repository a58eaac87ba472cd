// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Reads the entries of a dictionary for `Decodable` types.
struct KeyedValueContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ValueDecoder
    let set: ValueSet
    private let cursor = Cursor()

    /// The position of the next expected key. A dictionary type decodes its keys in the order of ``allKeys``, which
    /// then needs no search.
    private final class Cursor {
        var next = 0
    }

    init(decoder: ValueDecoder, set: ValueSet) {
        self.decoder = decoder
        self.set = set
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { self.set.keys.compactMap { key in Key(stringValue: key) } }

    func contains(_ key: Key) -> Bool { self.set[key.stringValue] != nil }

    private func find(_ key: String) -> Value? {
        let entries = self.set.entries
        if cursor.next < entries.count, entries[cursor.next].key.hasSameUTF8(as: key) {
            cursor.next += 1
            return entries[cursor.next - 1].value
        }
        let (index, isPresent) = self.set.position(of: key)
        cursor.next = index + 1
        return isPresent ? entries[index].value : nil
    }

    @inline(__always)
    private func value(_ key: some CodingKey) throws -> Value {
        guard let value = find(key.stringValue) else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(codingPath: codingPath, debugDescription: "The key is missing.")
            )
        }
        return value
    }

    private func nested(_ key: some CodingKey) throws -> ValueDecoder {
        decoder.nested(try value(key), at: key)
    }

    /// Reads a value without content of its own. A path is created only for an error.
    @inline(__always)
    private func read<T>(_ key: Key, _ body: (Value) throws(CodingFailure) -> T) throws -> T {
        let value = try value(key)
        do throws(CodingFailure) {
            return try body(value)
        } catch {
            throw decoder.nested(value, at: key).error(error)
        }
    }

    @inline(__always)
    private func integer<Integer: FixedWidthInteger>(_ type: Integer.Type, _ key: Key) throws -> Integer {
        try read(key) { value throws(CodingFailure) in try value.decodedInteger(type) }
    }

    func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try read(key) { value throws(CodingFailure) in try value.decodedBool() }
    }
    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try read(key) { value throws(CodingFailure) in try value.decodedString() }
    }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try read(key) { value throws(CodingFailure) in try value.decodedDouble() }
    }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try read(key) { value throws(CodingFailure) in try value.decodedFloat() }
    }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let counterpart = try read(key) { value throws(CodingFailure) in try value.counterpart(type) }
        return try counterpart ?? nested(key).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nested(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try nested(IndexKey.super) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }
}

/// Reads the elements of an array or a set for `Decodable` types.
struct UnkeyedValueContainer: UnkeyedDecodingContainer {
    let decoder: ValueDecoder
    let array: [Value]
    private(set) var currentIndex = 0

    init(decoder: ValueDecoder, array: [Value]) {
        self.decoder = decoder
        self.array = array
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { array.count }
    var isAtEnd: Bool { currentIndex == array.count }

    private func next(_ type: any Any.Type) throws -> Value {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: codingPath + [IndexKey.index(currentIndex)],
                    debugDescription: "The array has no more than \(array.count) elements."
                )
            )
        }
        return array[currentIndex]
    }

    /// Decodes the next element with a nested decoder. Advances only if that succeeds.
    private mutating func nested<T>(_ type: T.Type, _ body: (ValueDecoder) throws -> T) throws -> T {
        let result = try body(decoder.nested(try next(type), at: IndexKey.index(currentIndex)))
        currentIndex += 1
        return result
    }

    /// Reads an element without content of its own. A path is created only for an error.
    @inline(__always)
    private mutating func read<T>(_ body: (Value) throws(CodingFailure) -> T) throws -> T {
        let value = try next(T.self)
        do throws(CodingFailure) {
            let result = try body(value)
            currentIndex += 1
            return result
        } catch {
            throw decoder.nested(value, at: IndexKey.index(currentIndex)).error(error)
        }
    }

    @inline(__always)
    private mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
        try read { value throws(CodingFailure) in try value.decodedInteger(type) }
    }

    mutating func decodeNil() throws -> Bool {
        guard try next(Never.self).isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        try read { value throws(CodingFailure) in try value.decodedBool() }
    }
    mutating func decode(_ type: String.Type) throws -> String {
        try read { value throws(CodingFailure) in try value.decodedString() }
    }
    mutating func decode(_ type: Double.Type) throws -> Double {
        try read { value throws(CodingFailure) in try value.decodedDouble() }
    }
    mutating func decode(_ type: Float.Type) throws -> Float {
        try read { value throws(CodingFailure) in try value.decodedFloat() }
    }
    mutating func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let index = currentIndex
        if let counterpart = try read({ value throws(CodingFailure) in try value.counterpart(type) }) {
            return counterpart
        }
        currentIndex = index
        return try nested(type) { try $0.decode(type) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try nested(KeyedDecodingContainer<NestedKey>.self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try nested((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try nested((any Decoder).self) { $0 }
    }
}

/// Reads a single value for `Decodable` types.
struct SingleValueContainer: SingleValueDecodingContainer {
    let decoder: ValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    private func read<T>(_ body: (Value) throws(CodingFailure) -> T) throws -> T {
        do throws(CodingFailure) {
            return try body(decoder.value)
        } catch {
            throw decoder.error(error)
        }
    }

    private func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
        try read { value throws(CodingFailure) in try value.decodedInteger(type) }
    }

    func decodeNil() -> Bool { decoder.value.isNull }
    func decode(_ type: Bool.Type) throws -> Bool {
        try read { value throws(CodingFailure) in try value.decodedBool() }
    }
    func decode(_ type: String.Type) throws -> String {
        try read { value throws(CodingFailure) in try value.decodedString() }
    }
    func decode(_ type: Double.Type) throws -> Double {
        try read { value throws(CodingFailure) in try value.decodedDouble() }
    }
    func decode(_ type: Float.Type) throws -> Float {
        try read { value throws(CodingFailure) in try value.decodedFloat() }
    }
    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        // A wrapper counts as a level. Otherwise a type that decodes itself would recurse without end.
        try decoder.nested(decoder.value, at: IndexKey.super).decode(type)
    }
}
