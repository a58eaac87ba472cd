// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The limits of the size of a message. Checked when encoding and, before anything is allocated, when decoding.
///
/// A value below its valid range refuses every message.
public struct ValueSetLimits: Sendable, Hashable {
    /// The maximum nesting depth of collections. The outermost is level 1. Defaults to 32. Valid range: 1–128.
    ///
    /// A greater value counts as 128, so that a message cannot exhaust the stack.
    public var depth: Int {
        didSet { self.depth = min(self.depth, Self.deepest) }
    }
    /// The maximum number of keys in one dictionary. Defaults to 10 000. Valid range: 0 or more.
    public var keysPerDictionary: Int
    /// The maximum number of array elements, set elements and dictionary entries in a whole message. Defaults to 1 000
    /// 000. Valid range: 0 or more.
    public var items: Int
    /// The maximum length of the encoded message, in bytes. Defaults to 16 777 216 (16 MiB). Valid range: 1 or more.
    public var bytes: Int

    /// The maximum for ``depth``. Recursion of this depth fits any thread's stack.
    static let deepest = 128

    /// The default limits: depth 32, 10 000 keys per dictionary, 1 000 000 items, 16 MiB.
    public static var defaults: ValueSetLimits { ValueSetLimits() }

    /// Creates limits. Each defaults to the value of ``defaults``.
    ///
    /// - Parameters:
    ///   - depth: The maximum nesting depth of collections. Defaults to 32. Valid range: 1–128; a greater value counts
    ///     as 128.
    ///   - keysPerDictionary: The maximum number of keys in one dictionary. Defaults to 10 000. Valid range: 0 or more.
    ///   - items: The maximum number of elements and entries in a whole message. Defaults to 1 000 000. Valid range: 0
    ///     or more.
    ///   - bytes: The maximum length of the encoded message, in bytes. Defaults to 16 MiB. Valid range: 1 or more.
    public init(
        depth: Int = 32,
        keysPerDictionary: Int = 10_000,
        items: Int = 1_000_000,
        bytes: Int = 16 * 1024 * 1024
    ) {
        self.depth = min(depth, Self.deepest)
        self.keysPerDictionary = keysPerDictionary
        self.items = items
        self.bytes = bytes
    }
}
