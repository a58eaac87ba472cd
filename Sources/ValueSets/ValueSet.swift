// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A dictionary of named values: the content of a message, an activity or a notification.
///
/// Keys are strings that are compared as UTF-8 bytes, so `"é"` written as one scalar and as two are different keys.
/// Entries are in the order in which they are encoded, not in the order of insertion. Two value sets are equal if they
/// hold the same keys with equal values.
///
/// ```swift
/// var set: ValueSet = ["Type": "ping", "Attempt": 1]
/// set["Attempt"] = 2
/// print(set["Type"]?.string ?? "none")
/// ```
///
/// Finding a key takes a binary search. Inserting a key shifts the entries after it. To build a large set, pass all
/// entries to ``init(_:uniquingKeysWith:)``, which sorts once.
public struct ValueSet: Sendable, Hashable {
    /// A key and its value.
    public typealias Element = (key: String, value: Value)

    /// A key with its value.
    @usableFromInline
    struct Entry: Sendable, Hashable {
        @usableFromInline var key: String
        @usableFromInline var value: Value

        @inlinable
        init(key: String, value: Value) {
            self.key = key
            self.value = value
        }

        @usableFromInline
        static func == (left: Entry, right: Entry) -> Bool {
            left.key.hasSameUTF8(as: right.key) && left.value == right.value
        }

        @usableFromInline
        func hash(into hasher: inout Hasher) {
            key.hashUTF8(into: &hasher)
            hasher.combine(value)
        }
    }

    /// Strictly ascending in canonical key order. Encoding then takes one pass, and decoding one comparison per key.
    @usableFromInline
    var entries: [Entry]

    /// Creates an empty set.
    public init() {
        entries = []
    }

    init(canonicalEntries: [Entry]) {
        entries = canonicalEntries
    }

    /// Creates a set from pairs of keys and values.
    ///
    /// - Parameters:
    ///   - pairs: The keys and values.
    ///   - combine: Returns the value for a key that occurs more than once, from the earlier and the later value.
    /// - Throws: The error of `combine`.
    public init<Failure: Error>(
        _ pairs: some Sequence<(String, Value)>,
        uniquingKeysWith combine: (_ earlier: Value, _ later: Value) throws(Failure) -> Value
    ) throws(Failure) {
        entries = pairs.map { Entry(key: $0.0, value: $0.1) }
        try sortEntries(combine)
    }

    /// Creates a set from entries in any order. If a key occurs more than once, the last value is kept.
    init(unsorted entries: consuming [Entry]) {
        self.entries = entries
        sortEntries { _, later in later }
    }

    private mutating func sortEntries<Failure: Error>(
        _ combine: (Value, Value) throws(Failure) -> Value
    ) throws(Failure) {
        let firstOutOfOrder = entries.indices.dropFirst().first { index in
            entries[index - 1].key.canonicalOrder(to: entries[index].key) >= 0
        }
        guard firstOutOfOrder != nil else { return }
        let order = entries.indices.map { CanonicalSortKey(entries[$0].key, index: $0) }
            .sorted { left, right in
                if let precedes = left.precedes(right) { return precedes }
                let order = entries[left.index].key.canonicalOrder(to: entries[right.index].key)
                return order != 0 ? order < 0 : left.index < right.index
            }
        var sorted: [Entry] = []
        sorted.reserveCapacity(entries.count)
        for index in order.lazy.map(\.index) {
            if let last = sorted.last, last.key.hasSameUTF8(as: entries[index].key) {
                sorted[sorted.count - 1].value = try combine(last.value, entries[index].value)
            } else {
                sorted.append(entries[index])
            }
        }
        entries = sorted
    }

    /// Creates a set from pairs of keys and values. If a key occurs more than once, the last value is kept.
    public init(_ pairs: some Sequence<(String, Value)>) {
        self.init(pairs) { _, later in later }
    }

    /// Creates a set from a Swift dictionary.
    ///
    /// Swift treats canonically equivalent strings as the same key, so `dictionary` holds at most one of them.
    public init(_ dictionary: [String: Value]) {
        self.init(dictionary.lazy.map { ($0.key, $0.value) })
    }

    /// The value for a key; `nil` if the set does not hold the key. Setting `nil` removes the key.
    ///
    /// To send an explicit null, set ``Value/null``.
    public subscript(key: String) -> Value? {
        get {
            let (index, isPresent) = position(of: key)
            return isPresent ? entries[index].value : nil
        }
        set {
            if let newValue {
                update(newValue, forKey: key)
            } else {
                removeValue(forKey: key)
            }
        }
    }

    /// The value for a key, or the default if the set does not hold the key. Changing it in place stores the key.
    public subscript(key: String, default defaultValue: @autoclosure () -> Value) -> Value {
        get { self[key] ?? defaultValue() }
        _modify {
            let (index, isPresent) = position(of: key)
            if !isPresent {
                entries.insert(Entry(key: key, value: defaultValue()), at: index)
            }
            yield &entries[index].value
        }
    }

    /// Removes a key and its value.
    ///
    /// - Parameter key: The key.
    /// - Returns: The previous value; `nil` if there was none.
    @discardableResult
    public mutating func removeValue(forKey key: String) -> Value? {
        let (index, isPresent) = position(of: key)
        return isPresent ? entries.remove(at: index).value : nil
    }

    /// Adds the entries of another set.
    ///
    /// - Parameters:
    ///   - other: The entries to add.
    ///   - combine: Returns the value for a key that both sets hold, from this set's value and the other's.
    /// - Throws: The error of `combine`. The set is then unchanged.
    public mutating func merge<Failure: Error>(
        _ other: ValueSet,
        uniquingKeysWith combine: (_ current: Value, _ new: Value) throws(Failure) -> Value
    ) throws(Failure) {
        var merged: [Entry] = []
        merged.reserveCapacity(entries.count + other.entries.count)
        var mine = entries[...]
        var others = other.entries[...]
        while let left = mine.first, let right = others.first {
            let order = left.key.canonicalOrder(to: right.key)
            if order == 0 {
                merged.append(Entry(key: left.key, value: try combine(left.value, right.value)))
                mine.removeFirst()
                others.removeFirst()
            } else {
                merged.append(order < 0 ? mine.removeFirst() : others.removeFirst())
            }
        }
        merged.append(contentsOf: mine)
        merged.append(contentsOf: others)
        entries = merged
    }

    /// Returns this set with the entries of another set added.
    ///
    /// - Parameters:
    ///   - other: The entries to add.
    ///   - combine: Returns the value for a key that both sets hold, from this set's value and the other's.
    /// - Throws: The error of `combine`.
    public func merging<Failure: Error>(
        _ other: ValueSet,
        uniquingKeysWith combine: (_ current: Value, _ new: Value) throws(Failure) -> Value
    ) throws(Failure) -> ValueSet {
        var merged = self
        try merged.merge(other, uniquingKeysWith: combine)
        return merged
    }

    /// The index of the key, or the index at which to insert it.
    func position(of key: String) -> (index: Int, isPresent: Bool) {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            let order = entries[middle].key.canonicalOrder(to: key)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    mutating func update(_ value: Value, forKey key: String) {
        // Most sets are built in ascending order, which needs no search.
        if let last = entries.last, last.key.canonicalOrder(to: key) < 0 {
            entries.append(Entry(key: key, value: value))
            return
        }
        let (index, isPresent) = position(of: key)
        if isPresent {
            entries[index].value = value
        } else {
            entries.insert(Entry(key: key, value: value), at: index)
        }
    }
}

extension ValueSet: ExpressibleByDictionaryLiteral {
    /// Creates a set from the literal's pairs. If a key occurs twice, the last value is kept.
    public init(dictionaryLiteral elements: (String, Value)...) {
        // Shifting a few entries is faster than sorting.
        guard elements.count <= 32 else {
            self.init(elements)
            return
        }
        self.init()
        entries.reserveCapacity(elements.count)
        for (key, value) in elements {
            update(value, forKey: key)
        }
    }
}
