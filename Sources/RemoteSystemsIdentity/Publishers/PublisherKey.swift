// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import SwiftASN1

/// A publisher's private key, with the public keys that lead to it.
package struct PublisherKey: Sendable {
    let key: P256.Signing.PrivateKey
    package let chain: PublisherChain

    private static let type = "REMOTE SYSTEMS PUBLISHER KEY"
    /// The first byte of a key file: whether the rest is the content, or is sealed with a passphrase.
    private enum Form: UInt8 { case plain = 1, sealed = 2 }
    private static let largestFile = 64 << 10

    private struct Content: Codable {
        var key: Data
        var chain: [Data]
        var created: Date
    }

    /// Creates a publisher with a random key.
    package init() {
        self.key = P256.Signing.PrivateKey()
        self.chain = PublisherChain(first: self.key.publicKey)
    }

    private init(_ key: P256.Signing.PrivateKey, _ chain: PublisherChain) {
        (self.key, self.chain) = (key, chain)
    }

    /// Creates the key that replaces this one. The publisher's id stays the same.
    ///
    /// - Throws: ``IdentityError/Code/invalidPublisher`` if the publisher has had the maximum number of keys.
    package func successor() throws(IdentityError) -> PublisherKey {
        let next = P256.Signing.PrivateKey()
        return PublisherKey(next, try self.chain.appending(next.publicKey, signedBy: self.key))
    }

    // MARK: Files

    /// Writes the key to a file that does not exist, and that only this user can read (mode 0600).
    ///
    /// - Parameter passphrase: encrypts the key; at least 8 bytes. `nil`: the file's permissions protect it.
    /// - Throws: ``IdentityError``, with ``IdentityError/Code/fileExists`` or ``IdentityError/Code/weakPassphrase``.
    package func write(to path: String, passphrase: [UInt8]?) throws(IdentityError) {
        let text = try self.text(passphrase: passphrase)
        try OpenFile.create(path, path: path, Array(text.utf8))
    }

    /// The content of a key file.
    func text(
        passphrase: [UInt8]?,
        factors: PassphraseSeal.WorkFactors = .standard
    ) throws(IdentityError) -> String {
        let content = Content(
            key: Data(self.key.rawRepresentation),
            chain: self.chain.entries.map { Data($0) },
            created: Date()
        )
        guard let plain = try? JSONEncoder().encode(content) else {
            throw IdentityError(.cryptography, "The publisher's key could not be encoded. Please report this.")
        }
        var bytes = [Form.plain.rawValue] + Array(plain)
        if let passphrase {
            do throws(PassphraseSeal.Failure) {
                bytes = [Form.sealed.rawValue] + (try PassphraseSeal.seal(Array(plain), passphrase, factors: factors))
            } catch {
                throw error.identityError(sealing: "key file")
            }
        }
        return """
            RemoteSystems publisher \(self.chain.id), key \(self.chain.count).
            Anyone who has this file\(passphrase == nil ? "" : " and its passphrase") can sign as this publisher.
            Keep a copy in another place.
            To use it: remotesystems app sign MANIFEST --key FILE

            \(PEMDocument(type: Self.type, derBytes: bytes).pemString)

            """
    }

    /// Reads a key file.
    ///
    /// - Parameter passphrase: called if the file is encrypted.
    /// - Throws: ``IdentityError``, with ``IdentityError/Code/fileMissing``, ``IdentityError/Code/permissions`` if
    ///   another user can read the file, ``IdentityError/Code/wrongPassphrase`` or ``IdentityError/Code/damaged``.
    package static func read<Failure: Error>(
        _ path: String,
        passphrase: () throws(Failure) -> [UInt8]
    ) throws -> PublisherKey {
        guard let file = try OpenFile(reading: path, path: path) else {
            throw IdentityError(.fileMissing, "\(path) does not exist.", path: path)
        }
        guard let status = FileStatus(descriptor: file.descriptor), status.isRegularFile else {
            throw IdentityError(.notAPlainFile, "\(path) is not a plain file.", path: path)
        }
        guard status.isPrivate else {
            throw IdentityError(
                .permissions,
                "Other users can read or change \(path). If they may have used the key, replace it "
                    + "('remotesystems app keygen --successor-of'). Otherwise: chmod 600 \(path)",
                path: path
            )
        }
        let text = String(decoding: try file.read(limit: Self.largestFile), as: UTF8.self)
        return try Self.parse(text, path: path, passphrase: passphrase)
    }

    static func parse<Failure: Error>(
        _ text: String,
        path: String,
        passphrase: () throws(Failure) -> [UInt8]
    ) throws -> PublisherKey {
        let damaged = IdentityError(.damaged, "\(path) is not a publisher's key file, or is damaged.", path: path)
        guard let document = try? PEMDocument(pemString: text), document.discriminator == Self.type,
            let first = document.derBytes.first, let form = Form(rawValue: first)
        else { throw damaged }
        var plain = Array(document.derBytes.dropFirst())
        if form == .sealed {
            let phrase = try passphrase()
            do throws(PassphraseSeal.Failure) {
                plain = try PassphraseSeal.open(plain, phrase)
            } catch {
                throw error.identityError(opening: path)
            }
        }
        guard let content = try? JSONDecoder().decode(Content.self, from: Data(plain)),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: content.key),
            let chain = try? PublisherChain(content.chain.map { Array($0) }),
            chain.entries.last?.prefix(33) == Array(key.publicKey.compressedRepresentation)[...]
        else { throw damaged }
        return PublisherKey(key, chain)
    }
}

extension PublisherKey: CustomStringConvertible, CustomReflectable {
    /// The publisher's short id and the key's number. Holds no secret.
    package var description: String { "key \(self.chain.count) of publisher \(self.chain.id.short)" }

    /// Shows no key.
    package var customMirror: Mirror { Mirror(self, children: ["id": self.chain.id.description]) }
}
