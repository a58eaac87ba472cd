// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

// Text that is printed by default gets into logs, so it holds keys, types and counts, and never a user's data. There is
// no `debugDescription` with contents, because Optional and the collections print it: "\(set["title"])" would reveal
// it.
extension Value: CustomStringConvertible {
    /// The type and the number of bytes or elements, without contents, so it may be logged.
    public var description: String {
        switch self {
        case .string(let string): "string(\(string.utf8.count) bytes)"
        case .data(let data): "data(\(data.count) bytes)"
        case .array(let array): "array(\(array.count))"
        case .set(let set): "set(\(set.count))"
        case .dictionary(let dictionary): dictionary.description
        default: type.rawValue
        }
    }

    /// The contents as text, for debuggers. Do not log it.
    public var unredactedDescription: String {
        switch self {
        case .null: "null"
        case .bool(let bool): "\(bool)"
        case .integer(let integer): "\(integer)"
        case .unsigned(let unsigned): "\(unsigned)"
        case .double(let double): "\(double)"
        case .string(let string): string.debugDescription
        case .data(let data): "data(\(data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()))"
        case .date(let seconds): "date(\(seconds))"
        case .uuid(let uuid): "uuid(\(uuid.uuidString))"
        case .url(let url): "url(\(url.absoluteString))"
        case .array(let array): "[\(array.map(\.unredactedDescription).joined(separator: ", "))]"
        case .set(let set): "set(\(set.map(\.unredactedDescription).sorted().joined(separator: ", ")))"
        case .dictionary(let dictionary): dictionary.unredactedDescription
        }
    }
}

extension ValueSet: CustomStringConvertible {
    /// The first 16 keys with the types of their values, without contents, so it may be logged.
    public var description: String {
        let shown = entries.prefix(16).map { "\(KeyPathText.quoted($0.key)): \($0.value.type.rawValue)" }
        let rest = entries.count > shown.count ? ["… \(entries.count - shown.count) more"] : []
        return "[\((shown + rest).joined(separator: ", "))]"
    }

    /// The contents as text, for debuggers. Do not log it.
    public var unredactedDescription: String {
        guard !entries.isEmpty else { return "[:]" }
        return "["
            + entries.map { "\($0.key.debugDescription): \($0.value.unredactedDescription)" }.joined(separator: ", ")
            + "]"
    }
}
