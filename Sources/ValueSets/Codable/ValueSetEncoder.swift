// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Encodes values of user types that are `Encodable` into value sets.
///
/// `Date`, `UUID`, `URL`, `Data`, ``Value`` and ``ValueSet`` become the values of the same name. Integers and
/// floating-point numbers become integers and doubles. All other types become dictionaries and arrays, as their
/// `encode(to:)` determines.
///
/// ```swift
/// struct Ping: Codable { var type: String; var creationDate: Date }
/// let message = try ValueSetEncoder().encode(Ping(type: "ping", creationDate: .now))
/// ```
public struct ValueSetEncoder: Sendable {
    /// Values passed to the types' `encode(to:)`. Defaults to none.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates an encoder without user info.
    public init() {}

    /// Encodes a value as a dictionary.
    ///
    /// - Parameter value: The value, which must be coded as a dictionary, as structures are.
    /// - Returns: The dictionary.
    /// - Throws: `EncodingError` if the value is not coded as a dictionary, holds an integer out of range or is nested
    ///   more than 128 levels deep; errors of its `encode(to:)`.
    public func encode(_ value: some Encodable) throws -> ValueSet {
        let encoded = try encodeValue(value)
        guard case .dictionary(let set) = encoded else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [],
                    debugDescription:
                        "A value set is a dictionary, but the value is coded as \(encoded.type.rawValue).",
                    underlyingError: ValueSetError(
                        .typeMismatch,
                        "A message is a dictionary: wrap the value in a structure with a property for it.",
                        found: encoded.type.rawValue,
                        allowed: "dictionary"
                    )
                )
            )
        }
        return set
    }

    /// Encodes a value as a ``Value`` of any type.
    ///
    /// - Parameter value: The value.
    /// - Returns: The encoded value.
    /// - Throws: `EncodingError` if the value holds an integer out of range or is nested more than 128 levels deep;
    ///   errors of its `encode(to:)`.
    public func encodeValue(_ value: some Encodable) throws -> Value {
        try Value(encoding: value, path: nil, userInfo: userInfo)
    }
}
