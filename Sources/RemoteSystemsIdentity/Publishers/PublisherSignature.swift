// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// A publisher's signature over an application's manifest.
///
/// It covers the encoded content of the manifest with everything in it but the signature itself.
package struct PublisherSignature: Sendable, Hashable {
    /// The maximum number of bytes that are signed. A manifest has at most 64 KiB.
    package static let maxContent = 128 << 10

    private static let context = Array("remote-systems/1 manifest".utf8)

    package let chain: PublisherChain
    /// The two numbers of an ECDSA signature, 64 bytes.
    package let bytes: [UInt8]

    /// Verifies a signature.
    ///
    /// - Parameters:
    ///   - bytes: the signature.
    ///   - content: the signed content.
    ///   - chain: the publisher's keys. Any of them may have signed.
    /// - Throws: ``IdentityError/Code/invalidPublisher``.
    package init(_ bytes: [UInt8], of content: [UInt8], by chain: PublisherChain) throws(IdentityError) {
        guard content.count <= Self.maxContent, chain.hasSigned(Self.statement(content), bytes) else {
            throw .invalidPublisher(
                "The signature does not match: the manifest was changed after it was signed, or another key signed it. "
                    + "Sign it again with 'remotesystems app sign'."
            )
        }
        self.chain = chain
        self.bytes = bytes
    }

    fileprivate static func statement(_ content: [UInt8]) -> [UInt8] { Self.context + content }
}

extension PublisherKey {
    /// Signs a manifest's content.
    package func sign(_ content: [UInt8]) throws(IdentityError) -> PublisherSignature {
        guard let signature = try? self.key.signature(for: PublisherSignature.statement(content)) else {
            throw IdentityError(.cryptography, "The manifest could not be signed. Nothing was changed.")
        }
        return try PublisherSignature(Array(signature.rawRepresentation), of: content, by: self.chain)
    }
}
