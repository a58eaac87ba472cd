// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Value: Decodable {
    /// Decodes a value.
    ///
    /// A ``ValueSetDecoder`` passes the value as it is. Any other decoder must supply the form with tags that the
    /// article "Tags in JSON" describes.
    ///
    /// - Throws: `DecodingError` if the input does not represent a value, has an unknown tag, or holds an integer that
    ///   would lose digits.
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
        if let integer = try? container.decode(Int64.self) {
            // Only an integer 0 may have lost something: the sign of the double −0.
            guard integer == 0, let zero = try? container.decode(Double.self), zero.sign == .minus else {
                return .integer(integer)
            }
            return .double(zero)
        }
        if let unsigned = try? container.decode(UInt64.self) { return .unsigned(unsigned) }
        let double = try container.decode(Double.self)
        guard double.rounded(.towardZero) != double else { throw decoder.refusal(.lossy(.integer)) }
        return .double(double)
    }

    private static func object(_ container: KeyedDecodingContainer<TextKey>, _ decoder: any Decoder) throws -> Value {
        let keys = container.allKeys
        guard keys.count == 1, let key = keys.first, JSONTag.unescaped(key.stringValue) == nil else {
            return .dictionary(try ValueSet(container, decoder))
        }
        guard let tag = JSONTag(rawValue: key.stringValue) else { throw decoder.refusal(.unknownTag(key.stringValue)) }
        if tag == .set {
            let elements = try container.decode([Value].self, forKey: key)
            let set = Set(elements)
            guard set.count == elements.count else { throw decoder.refusal(.duplicateJSONElement()) }
            return .set(set)
        }
        if let number = try? container.decode(Double.self, forKey: key), let value = tag.value(of: number) {
            return value
        }
        guard let value = tag.value(of: try container.decode(String.self, forKey: key)) else {
            throw decoder.refusal(.invalidTagContent(tag))
        }
        return value
    }
}

extension ValueSet: Decodable {
    /// Decodes a value set.
    ///
    /// A ``ValueSetDecoder`` passes the value set as it is. Any other decoder must supply the form with tags that the
    /// article "Tags in JSON" describes.
    ///
    /// - Throws: `DecodingError` if the input is not a dictionary or does not represent a value set.
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

extension Decoder {
    fileprivate func refusal(_ error: ValueSetError) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(codingPath: codingPath, debugDescription: error.message, underlyingError: error)
        )
    }
}

extension ValueSetError {
    fileprivate static func duplicateJSONElement() -> ValueSetError {
        ValueSetError(.duplicateKey, "A set has the same element twice. Write each element once.")
    }
}
