// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension ValueSet: RandomAccessCollection {
    /// The position of the first entry.
    @inlinable public var startIndex: Int { 0 }

    /// The position after the last entry.
    @inlinable public var endIndex: Int { entries.count }

    /// The entry at a position, in canonical key order (shorter keys first, keys of one length by their bytes).
    @inlinable
    public subscript(position: Int) -> (key: String, value: Value) {
        let entry = entries[position]
        return (entry.key, entry.value)
    }

    /// The keys, in canonical order.
    public var keys: some RandomAccessCollection<String> & Sendable {
        Keys(entries: entries)
    }

    /// The values, in the order of their keys.
    public var values: some RandomAccessCollection<Value> & Sendable {
        Values(entries: entries)
    }

    private struct Keys: RandomAccessCollection, Sendable {
        let entries: [Entry]
        var startIndex: Int { 0 }
        var endIndex: Int { entries.count }
        subscript(position: Int) -> String { entries[position].key }
    }

    private struct Values: RandomAccessCollection, Sendable {
        let entries: [Entry]
        var startIndex: Int { 0 }
        var endIndex: Int { entries.count }
        subscript(position: Int) -> Value { entries[position].value }
    }
}
