// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How much one message may hold. Checked when encoding and, before anything is allocated, when decoding.
public struct ValueSetLimits: Sendable, Hashable {
    /// How deep collections may be nested; the outermost is level 1. Defaults to 32. Valid range: 1–128. More counts as 128, so
    /// that a message cannot use up the stack; less refuses every message, as with the other limits.
    public var depth: Int {
        didSet { self.depth = min(self.depth, Self.deepest) }
    }
    /// How many keys one dictionary may have. Defaults to 10 000. Valid range: 0 or more.
    public var keysPerDictionary: Int
    /// How many elements of arrays and sets and entries of dictionaries a message may have in all. Defaults to
    /// 1 000 000. Valid range: 1 or more.
    public var items: Int
    /// How long the encoded message may be, in bytes. Defaults to 16 777 216 (16 MiB). Valid range: 1 or more.
    public var bytes: Int

    /// The largest depth that can be set: recursion this deep fits any thread's stack.
    static let deepest = 128

    /// Depth 32, 10 000 keys a dictionary, 1 000 000 items, 16 MiB.
    public static var defaults: ValueSetLimits { ValueSetLimits() }

    /// Limits, each at its default unless given.
    ///
    /// - Parameters:
    ///   - depth: How deep collections may be nested. Above 128 it counts as 128, so that a message cannot use up the stack.
    ///   - keysPerDictionary: How many keys one dictionary may have.
    ///   - items: How many elements and entries a message may have in all.
    ///   - bytes: How long the encoded message may be.
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
