// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

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

    /// The value that is meant by text behind the tag; `nil` if none is.
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

    /// The value that is meant by a number behind the tag; `nil` if none is.
    func value(of number: Double) -> Value? {
        switch self {
        case .date: .date(secondsSince1970: number)
        case .double: .double(number)
        default: nil
        }
    }
}
