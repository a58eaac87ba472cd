// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import RemoteSystems

/// The publisher's signature in a manifest: the object `publisher` (`Docs/host-daemon.md`, "Publishers").
///
/// The signed content is the manifest without `publisher.signature`, as a value set in deterministic CBOR. So the
/// layout of the file and the order of its keys may change, and nothing else.
package struct ManifestSignature: Sendable, Hashable {
    package let publisher: PublisherID
    /// The number of keys that the publisher has had.
    package let keys: Int

    private static let object = "publisher"

    /// Verifies the signature of a manifest; `nil` if the manifest has none.
    ///
    /// - Parameter bytes: the manifest, a JSON object.
    /// - Throws: `IdentityError` with the code `invalidPublisher`.
    package init?(of bytes: [UInt8]) throws(IdentityError) {
        guard let manifest = try? ValueSet(json: Data(bytes)), let stated = manifest[Self.object] else { return nil }
        guard let object = stated.dictionary, let id = object["id"]?.string.flatMap({ PublisherID($0) }),
            let keys = object["keys"]?.array, let signature = object["signature"]?.string.flatMap(Self.bytes)
        else {
            throw IdentityError(
                .invalidPublisher,
                "'publisher' is incomplete or damaged. Sign the manifest again with 'remotesystems app sign'."
            )
        }
        let chain = try PublisherChain(keys.map { $0.string.flatMap(Self.bytes) ?? [] })
        guard chain.id == id else {
            throw IdentityError(.invalidPublisher, "'publisher.id' is not the id of the first of 'publisher.keys'.")
        }
        _ = try PublisherSignature(signature, of: Self.content(manifest), by: chain)
        self.publisher = id
        self.keys = chain.count
    }

    /// Returns a manifest with a new signature, in place of an old one.
    ///
    /// - Parameter bytes: the manifest, a JSON object.
    /// - Throws: `ValueSetError` if it is not a JSON object; `IdentityError`.
    package static func signed(_ bytes: [UInt8], by key: PublisherKey) throws -> [UInt8] {
        var manifest = try ValueSet(json: Data(bytes))
        var publisher: ValueSet = [
            "id": .string("\(key.chain.id)"),
            "keys": .array(key.chain.entries.map { .string(Data($0).base64EncodedString()) }),
        ]
        manifest[Self.object] = .dictionary(publisher)
        publisher["signature"] = .string(Data(try key.sign(Self.content(manifest)).bytes).base64EncodedString())
        manifest[Self.object] = .dictionary(publisher)
        return Array(try manifest.json(prettyPrinted: true).utf8) + [UInt8(ascii: "\n")]
    }

    private static func bytes(_ base64: String) -> [UInt8]? { Data(base64Encoded: base64).map { Array($0) } }

    private static func content(_ manifest: ValueSet) throws(IdentityError) -> [UInt8] {
        var manifest = manifest
        if var object = manifest[Self.object]?.dictionary {
            object["signature"] = nil
            manifest[Self.object] = .dictionary(object)
        }
        do {
            return try manifest.encoded()
        } catch {
            throw IdentityError(.invalidPublisher, "The manifest's content cannot be signed: \(error)", cause: error)
        }
    }
}
