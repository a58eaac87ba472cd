// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The `Decoder` that user types see: it reads one ``Value``.
struct ValueDecoder: Decoder {
    let value: Value
    let path: CodingPath?
    let sendableUserInfo: [CodingUserInfoKey: any Sendable]

    init(value: Value, path: CodingPath?, userInfo: [CodingUserInfoKey: any Sendable]) {
        self.value = value
        self.path = path
        sendableUserInfo = userInfo
    }

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { sendableUserInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .dictionary(let set) = value else { throw mismatch([String: Value].self, "a dictionary") }
        return KeyedDecodingContainer(KeyedValueContainer<Key>(decoder: self, set: set))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch value {
        case .array(let array): return UnkeyedValueContainer(decoder: self, array: array)
        case .set(let set): return UnkeyedValueContainer(decoder: self, array: Array(set))
        default: throw mismatch([Value].self, "an array")
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueContainer(decoder: self)
    }

    func nested(_ value: Value, at key: some CodingKey) -> ValueDecoder {
        ValueDecoder(value: value, path: CodingPath(path, key), userInfo: sendableUserInfo)
    }

    // MARK: Values

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if let counterpart = try counterpart(type) { return counterpart }
        guard path.depth < ValueSetLimits.deepest else {
            throw corrupted("The value is nested more than \(ValueSetLimits.deepest) levels deep.")
        }
        return try T(from: self)
    }

    @inline(__always)
    private func counterpart<T>(_ type: T.Type) throws -> T? {
        // Comparing the types first is far cheaper than trying the casts.
        if type == String.self { return try string() as? T }
        if type == Int.self { return try integer(Int.self) as? T }
        if type == Double.self { return try double() as? T }
        if type == Bool.self { return try bool() as? T }
        if type == Date.self { return try require(value.date, "a date") as? T }
        if type == UUID.self { return try require(value.uuid, "a UUID") as? T }
        if type == Data.self { return try require(value.data, "data") as? T }
        if type == URL.self { return try require(value.url, "a URL") as? T }
        if type == Value.self { return value as? T }
        if type == ValueSet.self { return try require(value.dictionary, "a dictionary") as? T }
        return nil
    }

    func bool() throws -> Bool { try require(value.bool, "a boolean") }

    func string() throws -> String { try require(value.string, "a string") }

    func double() throws -> Double {
        if case .double(let double) = value { return double }
        return try number(value.double, Double.self)
    }

    func float() throws -> Float {
        let double = try double()
        let float = Float(double)
        // Fewer digits are what the caller asked for; infinity from a finite number is not.
        guard float.isFinite || !double.isFinite else { throw outOfRange(Float.self) }
        return float
    }

    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
        switch value {
        case .integer(let integer): try number(Integer(exactly: integer), type)
        case .unsigned(let unsigned): try number(Integer(exactly: unsigned), type)
        case .double(let double): try number(Integer(exactly: double), type)
        default: throw mismatch(type, "an integer")
        }
    }

    private func number<Number>(_ number: Number?, _ type: Number.Type) throws -> Number {
        if let number { return number }
        switch value {
        case .integer, .unsigned, .double: throw outOfRange(type)
        default: throw mismatch(type, "a number")
        }
    }

    private func require<T>(_ part: T?, _ kind: StaticString) throws -> T {
        guard let part else { throw mismatch(T.self, kind) }
        return part
    }

    // MARK: Errors

    func mismatch(_ type: any Any.Type, _ kind: StaticString) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "Expected \(kind), found \(value.type.rawValue)."
        )
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func outOfRange(_ type: any Any.Type) -> DecodingError {
        corrupted("A number does not fit into \(type) without loss.")
    }

    private func corrupted(_ description: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: description))
    }
}
