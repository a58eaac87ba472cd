// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import ValueSets

/// The bounds of a request's metadata (`Docs/wire-protocol.md`, section 6). Both sides check them: the sender to report
/// the mistake where it was made, the receiver because it must not trust the sender.
package enum MetadataRules {
    /// The maximum number of keys.
    package static let maxKeys = 64
    /// The maximum length of a key, in bytes.
    package static let maxKeyBytes = 64
    /// The maximum length of all keys and values together, in bytes of UTF-8.
    package static let maxBytes = 8192

    /// Checks keys, values and sizes of metadata.
    ///
    /// - Throws: ``ValueSetError``; the error contains no values of the metadata.
    package static func check(_ metadata: ValueSet) throws(ValueSetError) {
        guard metadata.count <= Self.maxKeys else {
            throw ValueSetError(
                .limitExceeded,
                "The request's metadata has too many keys.",
                found: "\(metadata.count)",
                allowed: "at most \(Self.maxKeys)"
            )
        }
        var bytes = 0
        for (key, value) in metadata {
            guard Self.isKey(key) else {
                throw ValueSetError(
                    .unexpectedKey,
                    "A key of the request's metadata is malformed.",
                    found: "\"\(String(decoding: key.utf8.prefix(64), as: UTF8.self).withoutControlCharacters)\"",
                    allowed: "1 to \(Self.maxKeyBytes) of a-z, 0-9, '-', '_' and '.'"
                )
            }
            guard case .string(let text) = value, Self.isValue(text) else {
                throw ValueSetError(
                    .typeMismatch,
                    "A value of the request's metadata is malformed.",
                    keyPath: key,
                    allowed: "a string without control, invisible and line-breaking characters"
                )
            }
            bytes += key.utf8.count + text.utf8.count
        }
        guard bytes <= Self.maxBytes else {
            throw ValueSetError(
                .limitExceeded,
                "The request's metadata is too large.",
                found: "\(bytes) bytes",
                allowed: "at most \(Self.maxBytes) bytes of keys and values"
            )
        }
    }

    /// Whether a text is valid as a key.
    package static func isKey(_ text: String) -> Bool {
        guard (1...Self.maxKeyBytes).contains(text.utf8.count) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default:
                false
            }
        }
    }

    /// Whether a text is valid as a value.
    package static func isValue(_ text: String) -> Bool {
        // Most values are printable ASCII, which needs no lookup in Unicode's tables.
        text.utf8.allSatisfy { (0x20...0x7e).contains($0) } || !text.hasControlCharacters
    }
}
