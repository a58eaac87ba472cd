// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

// ValueSetEncoder stores values unchanged. Every other encoder gets the form with JSON tags.
extension Value: Encodable {
    /// Encodes the value.
    ///
    /// A ``ValueSetEncoder`` receives the value as it is. Any other encoder receives the form with tags that the
    /// article "Tags in JSON" describes.
    ///
    /// - Throws: `EncodingError` if the value cannot be represented with tags, and any error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? NodeEncoder {
            encoder.node.set(self)
            return
        }
        switch self {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let bool): try encoder.single(bool)
        case .integer(let integer): try encoder.single(integer)
        case .unsigned(let unsigned): try encoder.single(unsigned)
        case .string(let string): try encoder.single(string)
        case .double(let double): try Self.encode(double, to: encoder)
        case .data(let data): try encoder.tagged(.data, data.base64EncodedString())
        case .date(let seconds):
            guard seconds.isFinite else { throw encoder.refusal(self, .dateNotFinite()) }
            try encoder.tagged(.date, seconds + 0)
        case .uuid(let uuid): try encoder.tagged(.uuid, uuid.uuidString)
        case .url(let url):
            guard URL(sent: url.absoluteString) != nil else { throw encoder.refusal(self, .urlNotAbsolute()) }
            try encoder.tagged(.url, url.absoluteString)
        case .array(let array):
            var container = encoder.unkeyedContainer()
            for element in array { try container.encode(element) }
        case .set(let set): try encoder.tagged(.set, Self.canonicalOrder(of: set))
        case .dictionary(let dictionary): try dictionary.encode(to: encoder)
        }
    }

    /// JSON does not distinguish 5 from 5.0 and has no infinity, so such doubles have a tag.
    private static func encode(_ double: Double, to encoder: any Encoder) throws {
        if double.isNaN {
            try encoder.tagged(.double, "NaN")
        } else if double.isInfinite {
            try encoder.tagged(.double, double < 0 ? "-Infinity" : "Infinity")
        } else if double == 0, double.sign == .minus {
            try encoder.tagged(.double, "-0")
        } else if double.rounded(.towardZero) == double {
            try encoder.tagged(.double, double)
        } else {
            try encoder.single(double)
        }
    }

    private static func canonicalOrder(of set: Set<Value>) throws -> [Value] {
        try set.map { (value: $0, bytes: try $0.encoded()) }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            .map(\.value)
    }
}

extension ValueSet: Encodable {
    /// Encodes the value set.
    ///
    /// A ``ValueSetEncoder`` receives the value set as it is. Any other encoder receives the form with tags that the
    /// article "Tags in JSON" describes.
    ///
    /// - Throws: `EncodingError` if the value set cannot be represented with tags, and any error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? NodeEncoder {
            encoder.node.set(.dictionary(self))
            return
        }
        // Encoders keep keys in Swift dictionaries, which treat canonically equivalent strings as one key.
        let isPlain = keys.allSatisfy { key in key.utf8.allSatisfy { $0 < 0x80 } }
        guard isPlain || Set(keys).count == count else {
            throw encoder.refusal(
                self,
                ValueSetError(
                    .notRepresentable,
                    "Two keys differ in their Unicode composition only, which JSON libraries take for one. Rename one."
                )
            )
        }
        var container = encoder.container(keyedBy: TextKey.self)
        for entry in entries {
            try container.encode(entry.value, forKey: TextKey(stringValue: JSONTag.escaped(entry.key)))
        }
    }
}

extension Encoder {
    fileprivate func single(_ value: some Encodable) throws {
        var container = singleValueContainer()
        try container.encode(value)
    }

    fileprivate func tagged(_ tag: JSONTag, _ content: some Encodable) throws {
        var container = container(keyedBy: TextKey.self)
        try container.encode(content, forKey: TextKey(stringValue: tag.rawValue))
    }

    fileprivate func refusal(_ value: Any, _ error: ValueSetError) -> EncodingError {
        .invalidValue(
            value,
            EncodingError.Context(codingPath: codingPath, debugDescription: error.message, underlyingError: error)
        )
    }
}
