// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// One piece of data that systems can send to each other: a scalar, or a collection of further values.
///
/// Which of the types may be used in which place is said by an ``AllowedValueSchema``.
///
/// ```swift
/// let message: ValueSet = ["title": "Prelude", "track": 3, "paused": false]
/// ```
///
/// Two values are equal if, and only if, they have the same encoding (article "Wire profile"):
/// - An integer is equal to the same integer in ``unsigned(_:)``, and never to a ``double(_:)``.
/// - Every NaN is equal to every other NaN; `-0.0` and `0.0` differ.
/// - Strings and URLs are compared as UTF-8 bytes, not by Unicode's canonical equivalence.
@frozen
public enum Value: Sendable {
    /// Nothing, said explicitly.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// An integer from `Int64.min` to `Int64.max`.
    case integer(Int64)
    /// An integer from 0 to `UInt64.max`. Decoding yields it for integers above `Int64.max` only.
    case unsigned(UInt64)
    /// A floating-point number. Infinities are kept; every NaN is sent as the one quiet NaN.
    case double(Double)
    /// Text.
    case string(String)
    /// Bytes.
    case data(Data)
    /// A point in time: seconds since 1970-01-01 00:00:00 UTC, negative before that, finite.
    ///
    /// The seconds are kept as they are, so a round trip is exact to the bit. `Date` counts from 2001 instead, and adding
    /// the 978 307 200 seconds between the two can round the last bit of a fraction of a second.
    case date(secondsSince1970: Double)
    /// A universally unique identifier.
    case uuid(UUID)
    /// An absolute URL: a `URI` by the grammar of RFC 3986. Others cannot be encoded.
    case url(URL)
    /// Values in order.
    case array([Value])
    /// Values without order, each once.
    case set(Set<Value>)
    /// A nested dictionary.
    case dictionary(ValueSet)
}

extension Value {
    /// A point in time, rounded as described at ``date(secondsSince1970:)``.
    @inlinable
    public static func date(_ date: Date) -> Value {
        .date(secondsSince1970: date.timeIntervalSince1970)
    }
}
