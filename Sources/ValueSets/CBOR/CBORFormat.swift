// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The major types of RFC 8949, shifted into the initial byte.
enum CBORMajor {
    static let unsigned: UInt8 = 0 << 5
    static let negative: UInt8 = 1 << 5
    static let bytes: UInt8 = 2 << 5
    static let text: UInt8 = 3 << 5
    static let array: UInt8 = 4 << 5
    static let map: UInt8 = 5 << 5
    static let tag: UInt8 = 6 << 5
    static let simple: UInt8 = 7 << 5
}

/// The initial bytes of CBOR's simple values and floating-point numbers.
enum CBORSimple {
    static let `false`: UInt8 = 0xf4
    static let `true`: UInt8 = 0xf5
    static let null: UInt8 = 0xf6
    static let half: UInt8 = 0xf9
    static let single: UInt8 = 0xfa
    static let double: UInt8 = 0xfb
}

/// The registered tags that this format uses.
enum CBORTag {
    /// The tag of a date: seconds since 1970 (RFC 8949 §3.4.2).
    static let date: UInt64 = 1
    /// A URI as text (RFC 8949 §3.4.5.3).
    static let uri: UInt64 = 32
    /// A UUID as 16 bytes (IANA registry of CBOR tags).
    static let uuid: UInt64 = 37
    /// A set as an array (IANA registry of CBOR tags).
    static let set: UInt64 = 258
}
