// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A JSON value.
enum JSONNode: Sendable, Hashable, Decodable {
    case null
    case bool(Bool)
    case integer(Int)
    case string(String)
    case array([JSONNode])
    case object([String: JSONNode])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([String: JSONNode].self) {
            self = .object(value)
        } else if let value = try? container.decode([JSONNode].self) {
            self = .array(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else {
            self = .null
        }
    }

    subscript(_ key: String) -> JSONNode? {
        if case .object(let object) = self { object[key] } else { nil }
    }

    var string: String? { if case .string(let string) = self { string } else { nil } }
    var int: Int? { if case .integer(let int) = self { int } else { nil } }
    var array: [JSONNode]? { if case .array(let array) = self { array } else { nil } }

    /// The only member of an object; `nil` for other values and objects with several members.
    var only: (key: String, value: JSONNode)? {
        guard case .object(let object) = self, object.count == 1, let first = object.first else { return nil }
        return (first.key, first.value)
    }
}
