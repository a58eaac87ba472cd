// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// Named texts sent beside a request's message, such as a user, a role or a trace.
///
/// Metadata is meant for code around the handlers, such as interceptors and tracers, and is not checked against the
/// service's schema. Handlers read it as ``AppServiceRequest/metadata``. It is encrypted and authenticated like the
/// message. Its contents are claims of the calling application: only the caller's system is proved
/// (``AppServiceRequest/caller``).
///
/// ```swift
/// let response = try await connection.send(["Type": "list"], metadata: ["request-id": "4711"])
/// ```
///
/// - A key has 1–64 of the characters `a`–`z`, `0`–`9`, `-`, `_` and `.`. Upper-case ASCII letters are sent in lower
///   case, so keys that differ only in case are the same key.
/// - A value is a text without control characters, invisible characters and line breaks. It may be empty.
/// - The maximum is 64 keys, and 8192 bytes of UTF-8 for all keys and values together.
///
/// Sending checks these rules and throws ``RemoteSystemError/Code/invalidMessage``. A host responds to a request that
/// breaks them with ``AppServiceResponseStatus/failure``, without calling interceptors or the handler.
public struct RequestMetadata: Sendable, Hashable {
    /// The maximum number of keys: 64.
    public static let maxKeys = MetadataRules.maxKeys
    /// The maximum length of a key, in bytes: 64.
    public static let maxKeyBytes = MetadataRules.maxKeyBytes
    /// The maximum length of all keys and values together, in bytes of UTF-8: 8192.
    public static let maxBytes = MetadataRules.maxBytes

    /// The metadata in the form in which it is sent.
    private(set) var values: ValueSet

    /// Creates empty metadata. A request with empty metadata is sent without any.
    public init() {
        self.values = ValueSet()
    }

    /// Creates metadata from values that a peer sent and that the transport has checked.
    init(received values: ValueSet) {
        self.values = values
    }

    /// The value for a key, ignoring the key's case; `nil` if there is none. Setting `nil` removes the key.
    public subscript(key: String) -> String? {
        get { self.values.isEmpty ? nil : self.values[Self.canonical(key)]?.string }
        set { self.values[Self.canonical(key)] = newValue.map { .string($0) } }
    }

    /// Whether there are no keys.
    public var isEmpty: Bool { self.values.isEmpty }

    /// The number of keys.
    public var count: Int { self.values.count }

    private static func canonical(_ key: String) -> String {
        key.utf8.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } ? key.lowercased() : key
    }

    /// Checks the rules for keys, values and size.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidMessage``.
    func check() throws(RemoteSystemError) {
        guard !self.values.isEmpty else { return }
        do {
            try MetadataRules.check(self.values)
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// Sets a value if the rules allow it; otherwise changes nothing.
    mutating func setIfAllowed(_ value: String, forKey key: String) {
        // Checked first, since further work takes time in proportion to the length.
        guard value.utf8.count <= Self.maxBytes, key.utf8.count <= Self.maxKeyBytes else { return }
        var new = self
        new[key] = value
        guard (try? MetadataRules.check(new.values)) != nil else { return }
        self = new
    }
}

extension RequestMetadata: ExpressibleByDictionaryLiteral {
    /// Creates metadata with the entries of the literal. If several entries have the same key, the last one applies.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}

extension RequestMetadata: Sequence {
    /// A key, in lower case, and its value.
    public typealias Element = (key: String, value: String)

    /// Returns an iterator over the keys and values, in the order in which they are sent.
    public func makeIterator() -> some IteratorProtocol<Element> {
        self.values.lazy.map { (key: $0.key, value: $0.value.string ?? "") }.makeIterator()
    }
}

extension RequestMetadata: CustomStringConvertible {
    /// The keys without the values, which may be secret.
    public var description: String {
        "[\(self.values.map(\.key).joined(separator: ", "))]"
    }
}

extension RequestMetadata: CustomReflectable {
    /// The keys without the values, which may be secret, for `dump` and debuggers.
    public var customMirror: Mirror {
        Mirror(self, children: ["keys": self.values.map(\.key)])
    }
}
