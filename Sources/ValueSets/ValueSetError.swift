// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The reason why a value could not be encoded, decoded or converted, or why it is not allowed.
///
/// The same input fails again; ``message`` states what to change. Neither ``message`` nor `description` holds values of
/// the input, only keys, types, counts and positions.
public struct ValueSetError: Error, Sendable, Hashable {
    /// A kind of failure.
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
        /// Further bytes follow the value.
        public static let trailingBytes = Code(.trailingBytes)
        /// The value is not in its canonical form, which is the only accepted one (RFC 8949 §4.2.1).
        public static let notCanonical = Code(.notCanonical)
        /// A dictionary has a key twice, or a set has an element twice.
        public static let duplicateKey = Code(.duplicateKey)
        /// Text is not UTF-8, or is not a URL where one is required.
        public static let invalidText = Code(.invalidText)
        /// The bytes use a part of CBOR that this format excludes: an indefinite length, or a tag or simple value that
        /// the format does not define.
        public static let unsupported = Code(.unsupported)
        /// The value exceeds the ``ValueSetLimits``.
        public static let limitExceeded = Code(.limitExceeded)
        /// The value has no encoding: a date that is not finite, a URL without a scheme, an integer out of range.
        public static let notRepresentable = Code(.notRepresentable)
        /// The value is of another type than the schema or the caller allows.
        public static let typeMismatch = Code(.typeMismatch)
        /// A key that the schema requires is missing.
        public static let missingKey = Code(.missingKey)
        /// A key that the schema does not allow is present.
        public static let unexpectedKey = Code(.unexpectedKey)
        /// The text is not JSON, or is JSON that does not represent a value.
        public static let invalidJSON = Code(.invalidJSON)
        /// The value set does not describe a schema.
        public static let invalidSchema = Code(.invalidSchema)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// The kind of failure.
    public var code: Code

    /// The description of what happened and what to do, in one or more sentences.
    public var message: String

    /// The offset of the failure in the encoded bytes or in the JSON text, in bytes from 0; `nil` if it is not known.
    public var byteOffset: Int?

    /// The place of the failure in the value, such as `player.tracks[3].title`; empty for the value itself. At most 384
    /// bytes of UTF-8, with `…` in place of omitted keys.
    public var keyPath: String

    /// The value or type that was found, if it can be named without revealing data; else `nil`.
    public var found: String?

    /// The values or types that are allowed instead, if they can be named; else `nil`.
    public var allowed: String?

    /// Creates an error of encoding, decoding or validation.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened and what to do, in one or more sentences.
    ///   - byteOffset: The offset of the failure, in bytes from 0. Defaults to `nil`: not known.
    ///   - keyPath: The place of the failure in the value. Defaults to the value itself.
    ///   - found: What was found. Defaults to `nil`.
    ///   - allowed: What is allowed instead. Defaults to `nil`.
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
    /// The key path, the message, what was found, what is allowed, and the byte offset; no values of the input.
    public var description: String {
        var text = keyPath.isEmpty ? message : "\(keyPath): \(message)"
        if let found { text += " Found: \(found)." }
        if let allowed { text += " Allowed: \(allowed)." }
        if let byteOffset { text += " (At byte \(byteOffset).)" }
        return text
    }
}
