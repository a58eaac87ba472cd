// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The keys by which JSON says what it has no type for: an object with one of them and nothing else.
enum JSONTag: String {
    case date = "$date"
    case uuid = "$uuid"
    case data = "$data"
    case url = "$url"
    case set = "$set"
    case double = "$double"

    /// A dictionary's own key, told from a tag by one more `$`.
    static func escaped(_ key: String) -> String {
        key.utf8.first == UInt8(ascii: "$") ? "$" + key : key
    }

    /// A dictionary's own key from its escaped form, or `nil` if it is not one.
    static func unescaped(_ key: String) -> String? {
        guard key.utf8.first == UInt8(ascii: "$") else { return key }
        let rest = key.dropFirst()
        return rest.utf8.first == UInt8(ascii: "$") ? String(rest) : nil
    }
}
