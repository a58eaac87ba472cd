// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension ValueSet {
    /// Reads a value set from a JSON object, with tags for the types that JSON does not have (article "Tags in JSON").
    ///
    /// - Parameters:
    ///   - json: The object as UTF-8 text.
    ///   - limits: Of the limits, only ``ValueSetLimits/bytes`` applies: it is the maximum length of the text. Defaults
    ///     to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with the byte offset and the key path if the error has a place in the text:
    ///   ``ValueSetError/Code/invalidJSON`` if the text is not JSON (RFC 8259) or not an object, or a tag is invalid;
    ///   ``ValueSetError/Code/duplicateKey`` if a key, or an element of a set, occurs twice;
    ///   ``ValueSetError/Code/notRepresentable`` if a number is out of range; ``ValueSetError/Code/limitExceeded`` if
    ///   the text exceeds the limit, or collections are nested more than 128 levels deep.
    public init(json: Data, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        guard case .dictionary(let set) = try Value(json: json, limits: limits) else {
            throw ValueSetError(.invalidJSON, "The JSON is not an object.", allowed: "{ … } without a tag")
        }
        self = set
    }

    /// Reads a value set from a JSON object, with tags for the types that JSON does not have (article "Tags in JSON").
    ///
    /// - Parameters:
    ///   - json: The object as text.
    ///   - limits: Of the limits, only ``ValueSetLimits/bytes`` applies: it is the maximum length of the text. Defaults
    ///     to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with the byte offset and the key path if the error has a place in the text:
    ///   ``ValueSetError/Code/invalidJSON`` if the text is not JSON (RFC 8259) or not an object, or a tag is invalid;
    ///   ``ValueSetError/Code/duplicateKey`` if a key, or an element of a set, occurs twice;
    ///   ``ValueSetError/Code/notRepresentable`` if a number is out of range; ``ValueSetError/Code/limitExceeded`` if
    ///   the text exceeds the limit, or collections are nested more than 128 levels deep.
    public init(json: String, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        try self.init(json: Data(json.utf8), limits: limits)
    }

    /// Returns the value set as a JSON object, with tags for the types that JSON does not have (article "Tags in
    /// JSON"). Equal value sets give equal text.
    ///
    /// - Parameter prettyPrinted: Whether to add line breaks and indentation. Defaults to `false`.
    /// - Throws: ``ValueSetError`` with the key path if a date is not finite, a URL has no scheme, or two keys differ
    ///   only in their Unicode composition.
    public func json(prettyPrinted: Bool = false) throws(ValueSetError) -> String {
        try Value.dictionary(self).json(prettyPrinted: prettyPrinted)
    }
}

extension Value {
    /// Reads a value from JSON, with tags for the types that JSON does not have (article "Tags in JSON").
    ///
    /// - Parameters:
    ///   - json: The value as UTF-8 text.
    ///   - limits: Of the limits, only ``ValueSetLimits/bytes`` applies: it is the maximum length of the text. Defaults
    ///     to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with the byte offset and the key path if the error has a place in the text:
    ///   ``ValueSetError/Code/invalidJSON`` if the text is not JSON (RFC 8259), or a tag is invalid;
    ///   ``ValueSetError/Code/duplicateKey`` if a key, or an element of a set, occurs twice;
    ///   ``ValueSetError/Code/notRepresentable`` if a number is out of range; ``ValueSetError/Code/limitExceeded`` if
    ///   the text exceeds the limit, or collections are nested more than 128 levels deep.
    public init(json: Data, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        guard json.count <= limits.bytes else { throw .tooManyBytes(json.count, limits: limits) }
        self = try JSONReader.value(of: Array(json))
    }

    /// Reads a value from JSON, with tags for the types that JSON does not have (article "Tags in JSON").
    ///
    /// - Parameters:
    ///   - json: The value as text.
    ///   - limits: Of the limits, only ``ValueSetLimits/bytes`` applies: it is the maximum length of the text. Defaults
    ///     to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with the byte offset and the key path if the error has a place in the text:
    ///   ``ValueSetError/Code/invalidJSON`` if the text is not JSON (RFC 8259), or a tag is invalid;
    ///   ``ValueSetError/Code/duplicateKey`` if a key, or an element of a set, occurs twice;
    ///   ``ValueSetError/Code/notRepresentable`` if a number is out of range; ``ValueSetError/Code/limitExceeded`` if
    ///   the text exceeds the limit, or collections are nested more than 128 levels deep.
    public init(json: String, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        try self.init(json: Data(json.utf8), limits: limits)
    }

    /// Returns the value as JSON, with tags for the types that JSON does not have (article "Tags in JSON"). Equal
    /// values give equal text.
    ///
    /// - Parameter prettyPrinted: Whether to add line breaks and indentation. Defaults to `false`.
    /// - Throws: ``ValueSetError`` with the key path if a date is not finite, a URL has no scheme, or two keys differ
    ///   only in their Unicode composition.
    public func json(prettyPrinted: Bool = false) throws(ValueSetError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if prettyPrinted { encoder.outputFormatting.insert(.prettyPrinted) }
        do {
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        } catch let error as EncodingError {
            throw ValueSetError(json: error)
        } catch let error as ValueSetError {
            throw error
        } catch {
            throw ValueSetError(.notRepresentable, "The value cannot be written as JSON.")
        }
    }
}

extension ValueSetError {
    fileprivate init(json error: EncodingError) {
        guard case .invalidValue(_, let context) = error, let cause = context.underlyingError as? ValueSetError else {
            self.init(.notRepresentable, "The value cannot be written as JSON.")
            return
        }
        self = cause
        prepend(context.codingPath)
    }

    private mutating func prepend(_ path: [any CodingKey]) {
        for key in path.reversed() {
            if let index = key.intValue {
                self = inside(index: index)
            } else if let name = JSONTag.unescaped(key.stringValue) {
                self = inside(key: name)
            }
        }
    }
}
