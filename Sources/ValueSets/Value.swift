// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A value that systems can send to each other: a scalar, or a collection of further values.
///
/// An ``AllowedValueSchema`` determines which types may be used in which place.
///
/// ```swift
/// let message: ValueSet = ["title": "Prelude", "track": 3, "paused": false]
/// ```
///
/// Two values are equal exactly if they have the same encoding (article "The wire profile"):
/// - An integer is equal to the same integer in ``unsigned(_:)``, and never to a ``double(_:)``.
/// - Every NaN is equal to every other NaN; `-0.0` and `0.0` differ.
/// - Strings and URLs are compared as UTF-8 bytes, not by Unicode's canonical equivalence.
@frozen
public enum Value: Sendable {
    /// An explicit null. A key with this value is present.
    case null
    /// A boolean: `true` or `false`.
    case bool(Bool)
    /// An integer from `Int64.min` to `Int64.max`.
    case integer(Int64)
    /// An integer from 0 to `UInt64.max`. Decoding uses this case only for integers above `Int64.max`.
    case unsigned(UInt64)
    /// A floating-point number. Infinities are kept; every NaN is encoded as the same quiet NaN.
    case double(Double)
    /// A text.
    case string(String)
    /// A sequence of bytes.
    case data(Data)
    /// A point in time: seconds since 1970-01-01 00:00:00 UTC. Must be finite; negative before 1970.
    ///
    /// The seconds are kept exactly, so encoding and decoding does not change a bit. `Date` counts from 2001 instead.
    /// Adding the 978 307 200 seconds between the two can round the last bit of a fraction of a second.
    case date(secondsSince1970: Double)
    /// A universally unique identifier.
    case uuid(UUID)
    /// An absolute URL: a `URI` by the grammar of RFC 3986. Other URLs cannot be encoded.
    case url(URL)
    /// An ordered list of values.
    case array([Value])
    /// An unordered collection of distinct values.
    case set(Set<Value>)
    /// A nested dictionary with string keys.
    case dictionary(ValueSet)
}

extension Value {
    /// Creates a point in time, rounded as described at ``date(secondsSince1970:)``.
    @inlinable
    public static func date(_ date: Date) -> Value {
        .date(secondsSince1970: date.timeIntervalSince1970)
    }
}
