// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SwiftASN1

/// An account as one text that is encrypted with a passphrase: PEM armour around a ``PassphraseSeal``.
enum RecoveryFile {
    private static let type = "REMOTE SYSTEMS RECOVERY"

    /// In bytes. Enough for revocation lists and a list of joined systems of the maximum lengths, in base64 twice.
    static let largestFile = 4 << 20

    typealias WorkFactors = PassphraseSeal.WorkFactors

    /// The plaintext of the sealed account.
    struct Content: Codable, Equatable {
        var rootKey: Data
        var rootCertificate: Data
        /// The key of 32 bytes, or the signed key.
        var discoveryKey: Data
        /// The revocation lists in force; `nil` in files of earlier versions.
        var revocations: [Data]?
        /// The list of links; `nil` if there is none, and in files of earlier versions.
        var links: Data?
        /// The system that wrote the file and those that it admitted, without which the account would not count as
        /// shared; `nil` in files of earlier versions.
        var joined: [SystemID]?
        var created: Date
    }

    // MARK: Writing

    static func seal(
        _ content: Content,
        passphrase: [UInt8],
        account: AccountID,
        factors: WorkFactors = .standard
    ) throws(IdentityError) -> String {
        guard let plain = try? JSONEncoder().encode(content) else {
            throw IdentityError(.cryptography, "The recovery file could not be made. Please report this.")
        }
        let bytes: [UInt8]
        do throws(PassphraseSeal.Failure) {
            bytes = try PassphraseSeal.seal(Array(plain), passphrase, factors: factors)
        } catch {
            throw error.identityError(sealing: "recovery file")
        }
        return """
            RemoteSystems account \(account).
            Anyone who has this file and its passphrase controls the account. Keep them apart, and off this machine.
            To use it: remotesystems account import FILE

            \(PEMDocument(type: Self.type, derBytes: bytes).pemString)

            """
    }

    // MARK: Reading

    static func open(_ text: String, passphrase: [UInt8], path: String) throws(IdentityError) -> Content {
        let sealed = try Self.sealedBytes(in: text, path: path)
        let plain: [UInt8]
        do throws(PassphraseSeal.Failure) {
            plain = try PassphraseSeal.open(sealed, passphrase)
        } catch {
            throw error.identityError(opening: path)
        }
        return try Self.content(plain, path: path)
    }

    /// The bytes in the armour.
    static func sealedBytes(in text: String, path: String) throws(IdentityError) -> [UInt8] {
        guard let document = try? PEMDocument(pemString: text), document.discriminator == Self.type else {
            throw .damagedSeal("is not a recovery file, or not a complete one", path: path)
        }
        return document.derBytes
    }

    static func content(_ plain: [UInt8], path: String) throws(IdentityError) -> Content {
        guard let content = try? JSONDecoder().decode(Content.self, from: Data(plain)) else {
            throw .damagedSeal("does not hold an account", path: path)
        }
        return content
    }
}

extension IdentityError {
    fileprivate static func damagedSeal(_ what: String, path: String) -> IdentityError {
        IdentityError(
            .recoveryDamaged,
            "\(path) \(what). Its passphrase was not tried; use another copy of the file.",
            path: path
        )
    }
}

extension PassphraseSeal.Failure {
    /// The error for the user who wanted to write a file.
    ///
    /// - Parameter noun: what is in the file.
    func identityError(sealing noun: String) -> IdentityError {
        switch self {
        case .weakPassphrase:
            IdentityError(
                .weakPassphrase,
                """
                The passphrase is too short: it needs at least \(PassphraseSeal.shortestPassphrase) bytes, and better \
                five words or more. Anyone who has the file can try any number of passphrases.
                """
            )
        default:
            IdentityError(
                .cryptography,
                "The \(noun) could not be made. If this machine is short of memory, free some and try again.",
                cause: self
            )
        }
    }

    /// The error for the user who wanted to read a file.
    func identityError(opening path: String) -> IdentityError {
        switch self {
        case .damaged(let what): .damagedSeal(what, path: path)
        case .unsupported(let version):
            IdentityError(
                .unsupportedFormat,
                "\(path) has format \(version); this version reads 1 only. Update this software.",
                path: path
            )
        case .wrongPassphrase, .weakPassphrase:
            IdentityError(
                .wrongPassphrase,
                "The passphrase does not open \(path). The file itself is whole; try the passphrase again.",
                path: path
            )
        case .failed(let cause):
            IdentityError(
                .cryptography,
                "\(path) could not be opened: this machine has too little free memory. Free some and try again.",
                path: path,
                cause: cause
            )
        }
    }
}
