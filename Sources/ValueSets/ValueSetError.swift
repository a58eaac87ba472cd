// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Why a value could not be encoded, decoded, converted or allowed.
///
/// Trying again with the same input fails the same way; ``message`` says what to change. Neither ``message`` nor
/// `description` holds values of the input, only keys, types, counts and positions.
public struct ValueSetError: Error, Sendable, Hashable {
    /// What kind of failure it is.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable, Hashable {
            case truncated, trailingBytes, notCanonical, duplicateKey, invalidText, unsupported, limitExceeded
            case notRepresentable, typeMismatch, missingKey, unexpectedKey, invalidJSON, invalidSchema
        }

        private let kind: Kind

        private init(_ kind: Kind) {
            self.kind = kind
        }

        /// The bytes end before the value does.
        public static let truncated = Code(.truncated)
        /// Bytes are left over behind the value.
        public static let trailingBytes = Code(.trailingBytes)
        /// The value has a shorter or otherwise preferred form, and only that one is accepted (RFC 8949 §4.2.1).
        public static let notCanonical = Code(.notCanonical)
        /// A dictionary has a key twice, or a set an element.
        public static let duplicateKey = Code(.duplicateKey)
        /// Text is not UTF-8, or not a URL where one is due.
        public static let invalidText = Code(.invalidText)
        /// A part of CBOR that this format does not use: an indefinite length, another tag, another simple value.
        public static let unsupported = Code(.unsupported)
        /// The value is larger or deeper than a ``ValueSetLimits`` allows.
        public static let limitExceeded = Code(.limitExceeded)
        /// The value has no encoding: a date that is not finite, a URL without a scheme, an integer out of range.
        public static let notRepresentable = Code(.notRepresentable)
        /// The value is of another type than the schema or the caller allows.
        public static let typeMismatch = Code(.typeMismatch)
        /// A key that the schema requires is missing.
        public static let missingKey = Code(.missingKey)
        /// A key that the schema does not allow is present.
        public static let unexpectedKey = Code(.unexpectedKey)
        /// The text is not JSON, or not JSON that stands for a value.
        public static let invalidJSON = Code(.invalidJSON)
        /// The value set does not describe a schema.
        public static let invalidSchema = Code(.invalidSchema)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// What kind of failure it is.
    public var code: Code

    /// A sentence that says what happened and what to do.
    public var message: String

    /// Where in the encoded bytes, or in the JSON, it happened, counted from 0 at the start; `nil` if that is not known.
    public var byteOffset: Int?

    /// Where in the value it happened, such as `player.tracks[3].title`; empty for the value itself. At most 384 bytes of
    /// UTF-8, with `…` where something was left out.
    public var keyPath: String

    /// What was found, if that can be named without revealing data.
    public var found: String?

    /// What is allowed instead.
    public var allowed: String?

    /// An error.
    public init(
        _ code: Code,
        _ message: String,
        byteOffset: Int? = nil,
        keyPath: String = "",
        found: String? = nil,
        allowed: String? = nil
    ) {
        self.code = code
        self.message = message
        self.byteOffset = byteOffset
        self.keyPath = keyPath
        self.found = found
        self.allowed = allowed
    }

    package func inside(key: String) -> ValueSetError {
        var error = self
        error.keyPath = KeyPathText.prepend(key: key, to: keyPath)
        return error
    }

    package func inside(index: Int) -> ValueSetError {
        var error = self
        error.keyPath = KeyPathText.prepend(index: index, to: keyPath)
        return error
    }
}

extension ValueSetError: CustomStringConvertible {
    /// The key path, the sentence, what was found and what is allowed, and the place in the bytes; no values of the input.
    public var description: String {
        var text = keyPath.isEmpty ? message : "\(keyPath): \(message)"
        if let found { text += " Found: \(found)." }
        if let allowed { text += " Allowed: \(allowed)." }
        if let byteOffset { text += " (At byte \(byteOffset).)" }
        return text
    }
}
