// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension ValueSetError {
    static func unknownTag(_ key: String, at offset: Int? = nil) -> ValueSetError {
        ValueSetError(
            .invalidJSON,
            "A key begins with $ but is not a tag, or is beside other keys. Write a key of your own with one $ more.",
            byteOffset: offset,
            found: KeyPathText.quoted(key),
            allowed: "$date, $uuid, $data, $url, $set, $double, each alone in its object"
        )
    }

    static func invalidTagContent(_ tag: JSONTag, at offset: Int? = nil) -> ValueSetError {
        let allowed =
            switch tag {
            case .date: "seconds since 1970, or text such as 2026-01-31T12:00:00Z (RFC 3339), of a day that exists"
            case .uuid: "text such as E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
            case .data: "base64 (RFC 4648 §4) with padding"
            case .url: "a URI with a scheme (RFC 3986)"
            case .set: "an array"
            case .double: "a number, or NaN, Infinity, -Infinity or -0 as text"
            }
        return ValueSetError(
            .invalidJSON,
            "The value of \(tag.rawValue) does not match the tag.",
            byteOffset: offset,
            allowed: allowed
        )
    }

    static func lossy(_ loss: JSONNumber.Loss, at offset: Int? = nil) -> ValueSetError {
        switch loss {
        case .integer:
            ValueSetError(
                .notRepresentable,
                "An integer is out of range and would lose digits. Write it as a string, or as {\"$double\": …}.",
                byteOffset: offset,
                allowed: "\(Int64.min) to \(UInt64.max)"
            )
        case .tooLarge:
            ValueSetError(
                .notRepresentable,
                "A number is too large. Write it as a string.",
                byteOffset: offset,
                allowed: "at most \(Double.greatestFiniteMagnitude), or less than that below 0"
            )
        case .tooSmall:
            ValueSetError(
                .notRepresentable,
                "A number is too close to 0 and would become 0. Write 0, or a string.",
                byteOffset: offset,
                allowed: "0, or at least \(Double.leastNonzeroMagnitude) away from it"
            )
        }
    }
}
