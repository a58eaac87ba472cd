// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The `Decoder` passed to user types. It reads one ``Value``.
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

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        do throws(CodingFailure) {
            if let counterpart = try value.counterpart(type) { return counterpart }
        } catch {
            throw self.error(error)
        }
        guard path.depth < ValueSetLimits.deepest else {
            throw corrupted(.tooDeep(limits: ValueSetLimits(depth: .max)))
        }
        return try T(from: self)
    }

    // MARK: Errors

    func error(_ failure: CodingFailure) -> DecodingError {
        switch failure {
        case .mismatch(let type, let kind): mismatch(type, kind)
        case .outOfRange(let type):
            corrupted(ValueSetError(.notRepresentable, "A number does not fit into \(type) without loss."))
        }
    }

    func mismatch(_ type: any Any.Type, _ kind: StaticString) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "Expected \(kind), found \(value.type.rawValue).",
            underlyingError: ValueSetError(
                .typeMismatch,
                ValueSetError.mismatch,
                found: value.type.rawValue,
                allowed: "\(kind)"
            )
        )
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func corrupted(_ error: ValueSetError) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(codingPath: codingPath, debugDescription: error.message, underlyingError: error)
        )
    }
}
