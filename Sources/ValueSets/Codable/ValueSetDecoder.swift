// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Turns value sets into values of user types that are `Decodable`; the other direction of ``ValueSetEncoder``.
///
/// Numbers convert when nothing is lost: an integer can be read as `Double`, and `5.0` as `Int`. Nothing else converts.
///
/// ```swift
/// struct Ping: Codable { var type: String; var creationDate: Date }
/// let ping = try ValueSetDecoder().decode(Ping.self, from: message)
/// ```
public struct ValueSetDecoder: Sendable {
    /// Passed to the types' `init(from:)`.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// A decoder without user info.
    public init() {}

    /// A value of the type from a dictionary.
    ///
    /// - Throws: `DecodingError` with the coding path if a key is missing, a value is of another type, or a number does not
    ///   fit; and what the type's `init(from:)` throws.
    public func decode<T: Decodable>(_ type: T.Type, from set: ValueSet) throws -> T {
        try decode(type, fromValue: .dictionary(set))
    }

    /// A value of the type from a ``Value`` of any type.
    ///
    /// - Throws: `DecodingError` with the coding path if a key is missing, a value is of another type, or a number does not
    ///   fit; and what the type's `init(from:)` throws.
    public func decode<T: Decodable>(_ type: T.Type, fromValue value: Value) throws -> T {
        try ValueDecoder(value: value, path: nil, userInfo: userInfo).decode(type)
    }
}
