// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Names what a request asks for, so that asking again does not do it again.
///
/// Make a new one for each thing that is to be done, and use it for every attempt at that one:
///
/// ```swift
/// let key = IdempotencyKey()
/// var response = try await connection.send(order, idempotencyKey: key)
/// if response.status == .unknown { response = try await again.send(order, idempotencyKey: key) }
/// ```
public struct IdempotencyKey: Sendable, Hashable {
    /// The key as it is sent.
    public let bytes: [UInt8]

    /// The longest key, in bytes.
    public static let maxBytes = 64

    /// A key that is used nowhere else: 16 random bytes.
    public init() {
        var random = SystemRandomNumberGenerator()
        self.bytes = (0..<16).map { _ in random.next() }
    }

    /// A key of one's own; `nil` unless it has 1 to 64 bytes.
    public init?(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes.prefix(Self.maxBytes + 1))
        guard (1...Self.maxBytes).contains(self.bytes.count) else { return nil }
    }

    /// A text as a key, such as an order's number; `nil` unless it has 1 to 64 bytes in UTF-8.
    public init?(_ text: String) {
        self.init(text.utf8)
    }
}
