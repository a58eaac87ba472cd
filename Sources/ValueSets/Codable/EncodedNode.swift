// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The place of one value while it is being encoded; what its containers have collected is made a ``Value`` at the end.
final class EncodedNode {
    enum Content {
        case nothing
        case value(Value)
        case keyed([ValueSet.Entry], nested: [(key: String, node: EncodedNode)])
        case unkeyed([Value], nested: [(index: Int, node: EncodedNode)])
    }

    var content = Content.nothing

    func finish() -> Value? {
        switch content {
        case .nothing:
            return nil
        case .value(let value):
            return value
        case .keyed(var entries, let nested):
            for (key, node) in nested {
                if let value = node.finish() { entries.append(ValueSet.Entry(key: key, value: value)) }
            }
            return .dictionary(ValueSet(unsorted: entries))
        case .unkeyed(var values, let nested):
            for (index, node) in nested {
                // A super encoder that nothing was written to leaves an empty dictionary, as in Foundation's encoders.
                values[index] = node.finish() ?? [:]
            }
            return .array(values)
        }
    }

    // Moving the content out and back keeps its arrays singly owned, so that appending does not copy them.

    func add(_ value: Value, forKey key: String) {
        guard case .keyed(var entries, let nested) = content else { return }
        content = .nothing
        entries.append(ValueSet.Entry(key: key, value: value))
        content = .keyed(entries, nested: nested)
    }

    func addNode(forKey key: String) -> EncodedNode {
        let node = EncodedNode()
        guard case .keyed(let entries, var nested) = content else { return node }
        content = .nothing
        nested.append((key, node))
        content = .keyed(entries, nested: nested)
        return node
    }

    func add(_ value: Value) {
        guard case .unkeyed(var values, let nested) = content else { return }
        content = .nothing
        values.append(value)
        content = .unkeyed(values, nested: nested)
    }

    func addNode() -> EncodedNode {
        let node = EncodedNode()
        guard case .unkeyed(var values, var nested) = content else { return node }
        content = .nothing
        nested.append((values.count, node))
        values.append(.null)
        content = .unkeyed(values, nested: nested)
        return node
    }

    var count: Int {
        if case .unkeyed(let values, _) = content { values.count } else { 0 }
    }

    func beginKeyed() {
        if case .keyed = content { return }
        content = .keyed([], nested: [])
    }

    func beginUnkeyed() {
        if case .unkeyed = content { return }
        content = .unkeyed([], nested: [])
    }
}

extension Value {
    /// The value of an encodable one: directly for types that have a counterpart, through their `encode(to:)` for others.
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
                    debugDescription: "The value is nested more than \(ValueSetLimits.deepest) levels deep."
                )
            )
        }
        let node = EncodedNode()
        try value.encode(to: NodeEncoder(node: node, path: path, userInfo: userInfo))
        self = node.finish() ?? [:]
    }

    @inline(__always)
    private init?<T>(counterpartOf value: T) {
        // Comparing the types first is far cheaper than trying the casts.
        if T.self == String.self, let string = value as? String {
            self = .string(string)
        } else if T.self == Int.self, let integer = value as? Int {
            self = .integer(Int64(integer))
        } else if T.self == Double.self, let double = value as? Double {
            self = .double(double)
        } else if T.self == Bool.self, let bool = value as? Bool {
            self = .bool(bool)
        } else if T.self == Date.self, let date = value as? Date {
            self = .date(date)
        } else if T.self == UUID.self, let uuid = value as? UUID {
            self = .uuid(uuid)
        } else if T.self == Data.self, let data = value as? Data {
            self = .data(data)
        } else if T.self == URL.self, let url = value as? URL {
            self = .url(url)
        } else if T.self == Value.self, let value = value as? Value {
            self = value
        } else if T.self == ValueSet.self, let set = value as? ValueSet {
            self = .dictionary(set)
        } else {
            return nil
        }
    }
}
