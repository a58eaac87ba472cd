// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Decodes value sets into user types that are `Decodable`; the inverse of ``ValueSetEncoder``.
///
/// Numbers convert if the conversion is exact: an integer can be read as `Double`, and `5.0` as `Int`. No other types
/// convert.
///
/// ```swift
/// struct Ping: Codable { var type: String; var creationDate: Date }
/// let ping = try ValueSetDecoder().decode(Ping.self, from: message)
/// ```
public struct ValueSetDecoder: Sendable {
    /// Values passed to the types' `init(from:)`. Defaults to none.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates a decoder without user info.
    public init() {}

    /// Decodes a value of a type from a dictionary.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - set: The dictionary. Keys that the type does not read are ignored.
    /// - Returns: The decoded value.
    /// - Throws: `DecodingError` with the coding path if a key is missing, a value is of another type, or a number does
    ///   not fit; errors of the type's `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type, from set: ValueSet) throws -> T {
        try decode(type, fromValue: .dictionary(set))
    }

    /// Decodes a value of a type from a ``Value`` of any type.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - value: The value.
    /// - Returns: The decoded value.
    /// - Throws: `DecodingError` with the coding path if a key is missing, a value is of another type, or a number does
    ///   not fit; errors of the type's `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type, fromValue value: Value) throws -> T {
        try ValueDecoder(value: value, path: nil, userInfo: userInfo).decode(type)
    }
}
