// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The `Encoder` passed to user types. It fills one ``EncodedNode``.
struct NodeEncoder: Encoder {
    let node: EncodedNode
    let path: CodingPath?
    let sendableUserInfo: [CodingUserInfoKey: any Sendable]

    init(node: EncodedNode, path: CodingPath?, userInfo: [CodingUserInfoKey: any Sendable]) {
        self.node = node
        self.path = path
        sendableUserInfo = userInfo
    }

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { sendableUserInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.beginKeyed()
        return KeyedEncodingContainer(Keyed<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.beginUnkeyed()
        return Unkeyed(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        Single(encoder: self)
    }

    fileprivate func value<T: Encodable>(_ value: T, at key: some CodingKey) throws -> Value {
        // Only a value with content of its own needs a path.
        if let direct = Value(counterpartOf: value) { return direct }
        return try Value(encoding: value, path: CodingPath(path, key), userInfo: sendableUserInfo)
    }

    fileprivate func nested(_ node: EncodedNode, at key: some CodingKey) -> NodeEncoder {
        NodeEncoder(node: node, path: CodingPath(path, key), userInfo: sendableUserInfo)
    }

    fileprivate func integer(_ integer: some BinaryInteger, at key: (any CodingKey)? = nil) throws -> Value {
        guard let value = Value(exactly: integer) else {
            throw EncodingError.invalidValue(
                integer,
                EncodingError.Context(
                    codingPath: path.keys + (key.map { [$0] } ?? []),
                    debugDescription: "An integer is outside \(Int64.min) ... \(UInt64.max).",
                    underlyingError: ValueSetError(
                        .notRepresentable,
                        "An integer is out of range. Send it as a string.",
                        allowed: "\(Int64.min) to \(UInt64.max)"
                    )
                )
            )
        }
        return value
    }
}

private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func set(_ value: Value, _ key: Key) { encoder.node.add(value, forKey: key.stringValue) }

    func encodeNil(forKey key: Key) { set(.null, key) }
    func encode(_ value: Bool, forKey key: Key) { set(.bool(value), key) }
    func encode(_ value: String, forKey key: Key) { set(.string(value), key) }
    func encode(_ value: Double, forKey key: Key) { set(.double(value), key) }
    func encode(_ value: Float, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: Int, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: Int8, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: Int16, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: Int32, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: Int64, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: Int128, forKey key: Key) throws { set(try encoder.integer(value, at: key), key) }
    func encode(_ value: UInt, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: UInt8, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: UInt16, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: UInt32, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: UInt64, forKey key: Key) { set(Value(value), key) }
    func encode(_ value: UInt128, forKey key: Key) throws { set(try encoder.integer(value, at: key), key) }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        set(try encoder.value(value, at: key), key)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.nested(encoder.node.addNode(forKey: key.stringValue), at: key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.nested(encoder.node.addNode(forKey: key.stringValue), at: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        encoder.nested(encoder.node.addNode(forKey: IndexKey.super.stringValue), at: IndexKey.super)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        encoder.nested(encoder.node.addNode(forKey: key.stringValue), at: key)
    }
}

private struct Unkeyed: UnkeyedEncodingContainer {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.count }

    private var key: IndexKey { .index(count) }
    private func add(_ value: Value) { encoder.node.add(value) }

    func encodeNil() { add(.null) }
    func encode(_ value: Bool) { add(.bool(value)) }
    func encode(_ value: String) { add(.string(value)) }
    func encode(_ value: Double) { add(.double(value)) }
    func encode(_ value: Float) { add(Value(value)) }
    func encode(_ value: Int) { add(Value(value)) }
    func encode(_ value: Int8) { add(Value(value)) }
    func encode(_ value: Int16) { add(Value(value)) }
    func encode(_ value: Int32) { add(Value(value)) }
    func encode(_ value: Int64) { add(Value(value)) }
    func encode(_ value: Int128) throws { add(try encoder.integer(value, at: key)) }
    func encode(_ value: UInt) { add(Value(value)) }
    func encode(_ value: UInt8) { add(Value(value)) }
    func encode(_ value: UInt16) { add(Value(value)) }
    func encode(_ value: UInt32) { add(Value(value)) }
    func encode(_ value: UInt64) { add(Value(value)) }
    func encode(_ value: UInt128) throws { add(try encoder.integer(value, at: key)) }

    func encode<T: Encodable>(_ value: T) throws {
        add(try encoder.value(value, at: key))
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        superEncoder(at: key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        superEncoder(at: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        superEncoder(at: key)
    }

    private func superEncoder(at key: IndexKey) -> NodeEncoder {
        encoder.nested(encoder.node.addNode(), at: key)
    }
}

private struct Single: SingleValueEncodingContainer {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func set(_ value: Value) { encoder.node.set(value) }

    func encodeNil() { set(.null) }
    func encode(_ value: Bool) { set(.bool(value)) }
    func encode(_ value: String) { set(.string(value)) }
    func encode(_ value: Double) { set(.double(value)) }
    func encode(_ value: Float) { set(Value(value)) }
    func encode(_ value: Int) { set(Value(value)) }
    func encode(_ value: Int8) { set(Value(value)) }
    func encode(_ value: Int16) { set(Value(value)) }
    func encode(_ value: Int32) { set(Value(value)) }
    func encode(_ value: Int64) { set(Value(value)) }
    func encode(_ value: Int128) throws { set(try encoder.integer(value)) }
    func encode(_ value: UInt) { set(Value(value)) }
    func encode(_ value: UInt8) { set(Value(value)) }
    func encode(_ value: UInt16) { set(Value(value)) }
    func encode(_ value: UInt32) { set(Value(value)) }
    func encode(_ value: UInt64) { set(Value(value)) }
    func encode(_ value: UInt128) throws { set(try encoder.integer(value)) }

    func encode<T: Encodable>(_ value: T) throws {
        // A wrapper counts as a level. Otherwise a type that encodes itself would recurse without end.
        set(try encoder.value(value, at: IndexKey.super))
    }
}
