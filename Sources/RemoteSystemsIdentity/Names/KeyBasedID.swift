// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// An id that is the fingerprint of a public key: its order and its coding as text.
protocol KeyBasedID: LosslessStringConvertible, Comparable, Codable {
    /// The kind of id at the start of an error message.
    static var noun: String { get }

    var fingerprint: KeyFingerprint { get }
}

extension KeyBasedID {
    /// Orders ids by their bytes. The order is the same on every system and has no other meaning.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.fingerprint < rhs.fingerprint }

    /// Reads the id from its 52 characters.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for any other text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "\(Self.noun) is 52 characters of lower-case base32."
            )
        }
        self = id
    }

    /// Writes the id as its 52 characters.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}
