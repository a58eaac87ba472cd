// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// Named texts that travel with a request beside its message: who asks, on whose behalf, in which trace.
///
/// Metadata is for code around the handlers, such as interceptors and tracers, and is not checked against the service's schema.
/// A handler reads it as ``AppServiceRequest/metadata``. It is encrypted and authenticated as the message is, but it is what the
/// other application says: only the caller's system is proved (``AppServiceRequest/caller``).
///
/// ```swift
/// let response = try await connection.send(["Type": "list"], metadata: ["request-id": "4711"])
/// ```
///
/// - A key has 1 to 64 of the characters `a`–`z`, `0`–`9`, `-`, `_` and `.`. Upper and lower case of ASCII letters are the same
///   key; keys are sent in lower case.
/// - A value is a text without control characters, invisible characters and line breaks. It may be empty.
/// - There are at most 64 keys, and at most 8192 bytes of keys and values together, in UTF-8.
///
/// Sending checks these rules and throws ``RemoteSystemError/Code/invalidMessage``; a host answers a request that breaks them
/// with ``AppServiceResponseStatus/failure``, and no interceptor or handler sees it.
public struct RequestMetadata: Sendable, Hashable {
    /// The maximum number of keys.
    public static let maxKeys = MetadataRules.maxKeys
    /// The maximum length of a key, in bytes.
    public static let maxKeyBytes = MetadataRules.maxKeyBytes
    /// The maximum length of all keys and values together, in bytes of UTF-8.
    public static let maxBytes = MetadataRules.maxBytes

    /// The metadata as it is sent.
    private(set) var values: ValueSet

    /// No metadata: nothing is sent for it.
    public init() {
        self.values = ValueSet()
    }

    /// What a peer sent; the transport has checked it.
    init(received values: ValueSet) {
        self.values = values
    }

    /// The value for a key, in whichever case the key is written. Set `nil` to remove the key.
    public subscript(key: String) -> String? {
        get { self.values.isEmpty ? nil : self.values[Self.canonical(key)]?.string }
        set { self.values[Self.canonical(key)] = newValue.map { .string($0) } }
    }

    /// Whether there is none.
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

    /// Sets a value if the rules allow it; otherwise nothing changes.
    mutating func setIfAllowed(_ value: String, forKey key: String) {
        // Before anything of its length is done with it.
        guard value.utf8.count <= Self.maxBytes, key.utf8.count <= Self.maxKeyBytes else { return }
        var new = self
        new[key] = value
        guard (try? MetadataRules.check(new.values)) != nil else { return }
        self = new
    }
}

extension RequestMetadata: ExpressibleByDictionaryLiteral {
    /// Metadata with these values. Of entries with the same key, the last is kept.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}

extension RequestMetadata: Sequence {
    /// A key and its value.
    public typealias Element = (key: String, value: String)

    /// The keys, in lower case, and their values. The order is that in which they are sent.
    public func makeIterator() -> some IteratorProtocol<Element> {
        self.values.lazy.map { (key: $0.key, value: $0.value.string ?? "") }.makeIterator()
    }
}

extension RequestMetadata: CustomStringConvertible {
    /// The keys. Values may be secrets, so they are left out of what is printed.
    public var description: String {
        "[\(self.values.map(\.key).joined(separator: ", "))]"
    }
}

extension RequestMetadata: CustomReflectable {
    /// The keys alone, for the same reason.
    public var customMirror: Mirror {
        Mirror(self, children: ["keys": self.values.map(\.key)])
    }
}
