// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The keys for types that JSON does not have. A tagged value is an object with one of these keys and no other.
enum JSONTag: String {
    case date = "$date"
    case uuid = "$uuid"
    case data = "$data"
    case url = "$url"
    case set = "$set"
    case double = "$double"

    /// Escapes a dictionary's own key: one more `$` distinguishes it from a tag.
    static func escaped(_ key: String) -> String {
        key.utf8.first == UInt8(ascii: "$") ? "$" + key : key
    }

    /// Unescapes a dictionary's own key; `nil` if the key is not in escaped form.
    static func unescaped(_ key: String) -> String? {
        guard key.utf8.first == UInt8(ascii: "$") else { return key }
        let rest = key.dropFirst()
        return rest.utf8.first == UInt8(ascii: "$") ? String(rest) : nil
    }

    /// The tagged value for a text; `nil` if the text is not valid for the tag.
    func value(of text: String) -> Value? {
        switch self {
        case .date: DateText.secondsSince1970(text).map { .date(secondsSince1970: $0) }
        case .uuid: UUID(uuidString: text).map { .uuid($0) }
        case .data: Data(base64Encoded: text).map { .data($0) }
        case .url: URL(sent: text).map { .url($0) }
        case .set: nil
        case .double:
            switch text {
            case "NaN": .double(.nan)
            case "Infinity": .double(.infinity)
            case "-Infinity": .double(-.infinity)
            case "-0": .double(-0.0)
            default: nil
            }
        }
    }

    /// The tagged value for a number; `nil` if the tag does not accept numbers.
    func value(of number: Double) -> Value? {
        switch self {
        case .date: .date(secondsSince1970: number)
        case .double: .double(number)
        default: nil
        }
    }
}
