// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A key that identifies an operation, so that a repeated request does not execute it twice.
///
/// Create a new key for each operation, and use it for every attempt at that operation.
/// ``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)`` describes how long a host remembers a key.
///
/// ```swift
/// let key = IdempotencyKey()
/// var response = try await connection.send(order, idempotencyKey: key)
/// if response.status == .unknown { response = try await again.send(order, idempotencyKey: key) }
/// ```
public struct IdempotencyKey: Sendable, Hashable {
    /// The bytes of the key on the wire.
    public let bytes: [UInt8]

    /// The maximum length of a key, in bytes: 64.
    public static let maxBytes = 64

    /// Creates a unique key of 16 random bytes.
    public init() {
        var random = SystemRandomNumberGenerator()
        self.bytes = (0..<16).map { _ in random.next() }
    }

    /// Creates a key from these bytes; `nil` unless there are 1–64 of them.
    public init?(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes.prefix(Self.maxBytes + 1))
        guard (1...Self.maxBytes).contains(self.bytes.count) else { return nil }
    }

    /// Creates a key from a text, such as an order number; `nil` unless the text has 1–64 bytes of UTF-8.
    public init?(_ text: String) {
        self.init(text.utf8)
    }
}
