// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Collects one value while it is being encoded. ``finish()`` makes a ``Value`` of it.
final class EncodedNode {
    private enum Kind {
        case nothing, single, keyed, unkeyed
    }

    private var kind = Kind.nothing
    private var single = Value.null
    private var entries: [ValueSet.Entry] = []
    private var values: [Value] = []
    /// The containers that may still be written to, with the positions of their values. By key, which is a `Value`
    /// because it is compared as bytes, or by index.
    private var nestedByKey: [Value: (position: Int, node: EncodedNode)] = [:]
    private var nestedByIndex: [(index: Int, node: EncodedNode)] = []

    var count: Int { values.count }

    func finish() -> Value? {
        switch kind {
        case .nothing:
            return nil
        case .single:
            return single
        case .keyed:
            var empty: [Int] = []
            for (position, node) in nestedByKey.values {
                if let value = node.finish() { entries[position].value = value } else { empty.append(position) }
            }
            for position in empty.sorted(by: >) { entries.remove(at: position) }
            // The last value for a key counts, as in Foundation's encoders.
            return .dictionary(ValueSet(unsorted: entries))
        case .unkeyed:
            for (index, node) in nestedByIndex {
                // A super encoder without content produces an empty dictionary, as in Foundation's encoders.
                values[index] = node.finish() ?? [:]
            }
            return .array(values)
        }
    }

    func set(_ value: Value) {
        kind = .single
        single = value
    }

    func beginKeyed() { kind = .keyed }

    func beginUnkeyed() { kind = .unkeyed }

    func add(_ value: Value, forKey key: String) {
        // The value replaces a container, so a container that is requested afterwards is a new one.
        if !nestedByKey.isEmpty { nestedByKey[.string(key)] = nil }
        entries.append(ValueSet.Entry(key: key, value: value))
    }

    /// Returns the container for a key: the same one each time.
    func addNode(forKey key: String) -> EncodedNode {
        if let present = nestedByKey[.string(key)] { return present.node }
        let node = EncodedNode()
        nestedByKey[.string(key)] = (entries.count, node)
        entries.append(ValueSet.Entry(key: key, value: .null))
        return node
    }

    func add(_ value: Value) {
        values.append(value)
    }

    func addNode() -> EncodedNode {
        let node = EncodedNode()
        nestedByIndex.append((values.count, node))
        values.append(.null)
        return node
    }
}

extension Value {
    /// Converts an encodable value: directly if its type has a counterpart, otherwise with its `encode(to:)`.
    init<T: Encodable>(encoding value: T, path: CodingPath?, userInfo: [CodingUserInfoKey: any Sendable]) throws {
        if let direct = Value(counterpartOf: value) {
            self = direct
            return
        }
        guard path.depth < ValueSetLimits.deepest else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: path.keys,
                    debugDescription: "The value is nested more than \(ValueSetLimits.deepest) levels deep.",
                    underlyingError: ValueSetError.tooDeep(limits: ValueSetLimits(depth: .max))
                )
            )
        }
        let node = EncodedNode()
        try value.encode(to: NodeEncoder(node: node, path: path, userInfo: userInfo))
        self = node.finish() ?? [:]
    }

    @inline(__always)
    init?<T>(counterpartOf value: T) {
        if let string = same(value, as: String.self) {
            self = .string(string)
        } else if let double = same(value, as: Double.self) {
            self = .double(double)
        } else if let integer = same(value, as: Int.self) {
            self = .integer(Int64(integer))
        } else if let bool = same(value, as: Bool.self) {
            self = .bool(bool)
        } else if let date = same(value, as: Date.self) {
            self = .date(date)
        } else if let uuid = same(value, as: UUID.self) {
            self = .uuid(uuid)
        } else if let data = same(value, as: Data.self) {
            self = .data(data)
        } else if let url = same(value, as: URL.self) {
            self = .url(url)
        } else if let value = same(value, as: Value.self) {
            self = value
        } else if let set = same(value, as: ValueSet.self) {
            self = .dictionary(set)
        } else {
            return nil
        }
    }
}

/// Returns the value if its static type is `Other`.
@inline(__always)
func same<T, Other>(_ value: T, as _: Other.Type) -> Other? {
    // A dynamic cast takes longer than coding a number. The comparison has already shown that the types are equal.
    T.self == Other.self ? unsafe unsafeBitCast(value, to: Other.self) : nil
}
