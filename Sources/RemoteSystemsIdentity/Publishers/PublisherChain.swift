// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// The public keys that a publisher has had, oldest first.
///
/// The publisher's id is the id of the first key. Each further key is signed by its predecessor. A value of this type
/// holds verified keys only.
///
/// Unlike the root keys of an account (``RootChain``), the keys are not certificates: no TLS library reads them, and
/// without them a manifest stays short.
package struct PublisherChain: Sendable, Hashable {
    /// The maximum number of keys in a publisher's life.
    package static let maxKeys = 16

    private static let keyCount = 33
    private static let signatureCount = 64
    private static let context = Array("remote-systems/1 publisher key".utf8)

    /// The keys, each in compressed form (33 bytes), followed by its predecessor's signature (64 bytes) for all but the
    /// first.
    package private(set) var entries: [[UInt8]]
    private var keys: [[UInt8]]

    package let id: PublisherID

    /// Creates the chain of a publisher that has not replaced its key.
    init(first key: P256.Signing.PublicKey) {
        let bytes = Array(key.compressedRepresentation)
        (self.entries, self.keys, self.id) = ([bytes], [bytes], PublisherID(of: key))
    }

    /// Verifies the ``entries`` of a chain.
    ///
    /// - Throws: ``IdentityError/Code/invalidPublisher``.
    package init(_ entries: [[UInt8]]) throws(IdentityError) {
        guard let first = entries.first, entries.count <= Self.maxKeys, let key = Self.key(first) else {
            throw .invalidPublisher(
                "The publisher's keys are damaged: there are 1 to \(Self.maxKeys), each a point of the curve P-256."
            )
        }
        self.init(first: key)
        for entry in entries.dropFirst() { try self.append(entry) }
    }

    /// The number of keys.
    package var count: Int { self.keys.count }

    private static func key(_ bytes: some Collection<UInt8>) -> P256.Signing.PublicKey? {
        guard bytes.count == Self.keyCount else { return nil }
        return try? P256.Signing.PublicKey(compressedRepresentation: Array(bytes))
    }

    private mutating func append(_ entry: [UInt8]) throws(IdentityError) {
        let (bytes, signature) = (Array(entry.prefix(Self.keyCount)), entry.dropFirst(Self.keyCount))
        guard self.count < Self.maxKeys, entry.count == Self.keyCount + Self.signatureCount, Self.key(bytes) != nil,
            !self.keys.contains(bytes)
        else {
            throw .invalidPublisher("The publisher's keys are damaged, too many, or one is there twice.")
        }
        guard let newest = self.keys.last, let predecessor = Self.key(newest),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: Array(signature)),
            predecessor.isValidSignature(signature, for: self.statement(of: bytes))
        else {
            throw .invalidPublisher("A newer key of the publisher was not signed by the one before it.")
        }
        self.entries.append(entry)
        self.keys.append(bytes)
    }

    /// The bytes that the newest key signs to name its successor.
    private func statement(of key: [UInt8]) -> [UInt8] {
        Self.context + self.id.bytes + [UInt8(self.count + 1)] + key
    }

    /// Returns the chain with a further key.
    ///
    /// - Parameter newest: the private key of the newest key of this chain.
    /// - Throws: ``IdentityError/Code/invalidPublisher`` if the chain has the maximum number of keys, or `newest` is
    ///   not the newest key.
    func appending(
        _ key: P256.Signing.PublicKey,
        signedBy newest: P256.Signing.PrivateKey
    ) throws(IdentityError) -> PublisherChain {
        let bytes = Array(key.compressedRepresentation)
        guard self.count < Self.maxKeys else {
            throw .invalidPublisher("The publisher has had \(Self.maxKeys) keys, the maximum. Create a new publisher.")
        }
        guard let signature = try? newest.signature(for: self.statement(of: bytes)) else {
            throw IdentityError(.cryptography, "The new key could not be signed. Nothing was changed.")
        }
        var chain = self
        try chain.append(bytes + Array(signature.rawRepresentation))
        return chain
    }

    /// Whether one of the publisher's keys has signed the bytes.
    func hasSigned(_ bytes: [UInt8], _ signature: [UInt8]) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return self.keys.reversed().contains { Self.key($0)?.isValidSignature(signature, for: bytes) ?? false }
    }
}

extension IdentityError {
    static func invalidPublisher(_ message: String, path: String? = nil) -> IdentityError {
        IdentityError(.invalidPublisher, message, path: path)
    }
}
