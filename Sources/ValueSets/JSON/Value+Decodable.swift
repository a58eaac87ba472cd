// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Value: Decodable {
    /// Decodes a value: as it is from a ``ValueSetDecoder``, with tags (article "JSON tags") from any other decoder.
    ///
    /// - Throws: `DecodingError`, also for a tag that is not known and for an integer that would lose digits.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? ValueDecoder {
            self = decoder.value
            return
        }
        guard decoder.codingPath.count <= ValueSetLimits.deepest else {
            throw decoder.refusal(.tooDeep(limits: ValueSetLimits(depth: .max)))
        }
        if let container = try? decoder.container(keyedBy: TextKey.self) {
            self = try Self.object(container, decoder)
        } else if var container = try? decoder.unkeyedContainer() {
            var array: [Value] = []
            while !container.isAtEnd { array.append(try container.decode(Value.self)) }
            self = .array(array)
        } else {
            self = try Self.scalar(try decoder.singleValueContainer(), decoder)
        }
    }

    private static func scalar(_ container: any SingleValueDecodingContainer, _ decoder: any Decoder) throws -> Value {
        if container.decodeNil() { return .null }
        if let string = try? container.decode(String.self) { return .string(string) }
        if let bool = try? container.decode(Bool.self) { return .bool(bool) }
        if let integer = try? container.decode(Int64.self) { return .integer(integer) }
        if let unsigned = try? container.decode(UInt64.self) { return .unsigned(unsigned) }
        let double = try container.decode(Double.self)
        guard double.rounded(.towardZero) != double else {
            throw decoder.refusal(
                ValueSetError(
                    .notRepresentable,
                    "An integer is out of range and would lose digits. Write it as a string, or as {\"$double\": …}.",
                    allowed: "\(Int64.min) to \(UInt64.max)"
                )
            )
        }
        return .double(double)
    }

    private static func object(_ container: KeyedDecodingContainer<TextKey>, _ decoder: any Decoder) throws -> Value {
        let keys = container.allKeys
        guard keys.count == 1, let key = keys.first, JSONTag.unescaped(key.stringValue) == nil else {
            return .dictionary(try ValueSet(container, decoder))
        }
        guard let tag = JSONTag(rawValue: key.stringValue) else { throw decoder.refusal(.unknownTag(key.stringValue)) }
        switch tag {
        case .date:
            return .date(secondsSince1970: try seconds(container, key, decoder))
        case .uuid:
            return try decoder.require(UUID(uuidString: container.decode(String.self, forKey: key)), tag).uuidValue
        case .data:
            return .data(try decoder.require(Data(base64Encoded: container.decode(String.self, forKey: key)), tag))
        case .url:
            return .url(try decoder.require(URL(sent: container.decode(String.self, forKey: key)), tag))
        case .set:
            let elements = try container.decode([Value].self, forKey: key)
            let set = Set(elements)
            guard set.count == elements.count else { throw decoder.refusal(.duplicateJSONElement()) }
            return .set(set)
        case .double:
            if let double = try? container.decode(Double.self, forKey: key) { return .double(double) }
            let named: [String: Double] = ["NaN": .nan, "Infinity": .infinity, "-Infinity": -.infinity, "-0": -0.0]
            return .double(try decoder.require(named[container.decode(String.self, forKey: key)], tag))
        }
    }

    private static func seconds(
        _ container: KeyedDecodingContainer<TextKey>,
        _ key: TextKey,
        _ decoder: any Decoder
    ) throws -> Double {
        if let seconds = try? container.decode(Double.self, forKey: key) { return seconds }
        // People write dates as text. Only the number keeps every bit, so only the number is ever written.
        let text = try container.decode(String.self, forKey: key)
        return try decoder.require(DateText.secondsSince1970(text), .date)
    }
}

extension ValueSet: Decodable {
    /// Decodes a set: as it is from a ``ValueSetDecoder``, with tags (article "JSON tags") from any other decoder.
    ///
    /// - Throws: `DecodingError`, also if there is something else than a dictionary.
    public init(from decoder: any Decoder) throws {
        guard case .dictionary(let set) = try Value(from: decoder) else {
            throw DecodingError.typeMismatch(
                ValueSet.self,
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "Expected a dictionary.")
            )
        }
        self = set
    }

    fileprivate init(_ container: KeyedDecodingContainer<TextKey>, _ decoder: any Decoder) throws {
        var entries: [Entry] = []
        for key in container.allKeys {
            guard let name = JSONTag.unescaped(key.stringValue) else {
                throw decoder.refusal(.unknownTag(key.stringValue))
            }
            entries.append(Entry(key: name, value: try container.decode(Value.self, forKey: key)))
        }
        self.init(unsorted: entries)
    }
}

extension UUID {
    fileprivate var uuidValue: Value { .uuid(self) }
}

extension Decoder {
    fileprivate func require<T>(_ part: @autoclosure () throws -> T?, _ tag: JSONTag) throws -> T {
        guard let part = try part() else { throw refusal(.invalidTagContent(tag)) }
        return part
    }

    fileprivate func refusal(_ error: ValueSetError) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(codingPath: codingPath, debugDescription: error.message, underlyingError: error)
        )
    }
}

extension ValueSetError {
    fileprivate static func unknownTag(_ key: String) -> ValueSetError {
        ValueSetError(
            .invalidJSON,
            "A key begins with $ but is no tag, or stands beside other keys. Write a key of your own with one $ more.",
            found: KeyPathText.quoted(key),
            allowed: "$date, $uuid, $data, $url, $set, $double, each alone in its object"
        )
    }

    fileprivate static func invalidTagContent(_ tag: JSONTag) -> ValueSetError {
        let allowed =
            switch tag {
            case .date: "seconds since 1970, or text such as 2026-01-31T12:00:00Z (RFC 3339), of a day that there is"
            case .uuid: "text such as E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
            case .data: "base64 (RFC 4648 §4) with padding"
            case .url: "a URI with a scheme (RFC 3986)"
            case .set: "an array"
            case .double: "a number, or NaN, Infinity, -Infinity or -0 as text"
            }
        return ValueSetError(
            .invalidJSON,
            "What stands behind \(tag.rawValue) is not what the tag says.",
            allowed: allowed
        )
    }

    fileprivate static func duplicateJSONElement() -> ValueSetError {
        ValueSetError(.duplicateKey, "A set has the same element twice. Write each element once.")
    }
}
