// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials
import SwiftASN1

/// An account as one text that is encrypted with a passphrase.
///
/// The text is PEM armour around: version, work factors, salt, nonce, sealed account, checksum. The key is derived from
/// the passphrase with scrypt (RFC 7914). The account is sealed with AES-256-GCM, which also authenticates the bytes
/// before the nonce. The checksum covers all bytes before it. It distinguishes a damaged file from a wrong passphrase,
/// and reveals nothing about the account or the passphrase.
enum RecoveryFile {
    private static let type = "REMOTE SYSTEMS RECOVERY"
    private static let version: UInt8 = 1
    private static let saltCount = 16
    private static let nonceCount = 12
    private static let tagCount = 16
    private static let checksumCount = 8
    /// The length of the version and the work factors: version, log2 of N, r, p, one byte each.
    private static let factorsCount = 4

    static let shortestPassphrase = 8
    /// In bytes. Enough for a revocation list of the maximum length, which is encoded in base64 twice.
    static let largestFile = 1 << 20

    /// The plaintext of the sealed account.
    struct Content: Codable, Equatable {
        var rootKey: Data
        var rootCertificate: Data
        /// The key of 32 bytes, or the signed key.
        var discoveryKey: Data
        /// The revocation lists in force; `nil` in files of earlier versions.
        var revocations: [Data]?
        var created: Date
    }

    /// scrypt's parameters. The file records them, so later versions can raise them.
    struct WorkFactors: Equatable {
        var logN: UInt8
        var r: UInt8
        var p: UInt8

        /// The parameters for new files: 128 MiB and about half a second for each guess.
        static let standard = WorkFactors(logN: 17, r: 8, p: 1)

        /// Whether the parameters need at most 1 GiB. The parameters of a file are used before they are authenticated.
        var isBearable: Bool {
            (10...20).contains(self.logN) && (1...8).contains(self.r) && (1...4).contains(self.p)
        }
    }

    // MARK: Writing

    static func seal(
        _ content: Content,
        passphrase: [UInt8],
        account: AccountID,
        factors: WorkFactors = .standard
    ) throws(IdentityError) -> String {
        guard passphrase.count >= Self.shortestPassphrase else {
            throw IdentityError(
                .weakPassphrase,
                """
                The passphrase is too short: it needs at least \(Self.shortestPassphrase) bytes, and better five words \
                or more. Anyone who has the file can try any number of passphrases.
                """
            )
        }
        do {
            var header: [UInt8] = [Self.version, factors.logN, factors.r, factors.p]
            header += (0..<Self.saltCount).map { _ in UInt8.random(in: .min ... .max) }
            let key = try Self.key(passphrase, header: header, factors: factors)
            let sealed = try AES.GCM.seal(JSONEncoder().encode(content), using: key, authenticating: header)
            var bytes = header + Array(sealed.nonce) + Array(sealed.ciphertext) + Array(sealed.tag)
            bytes += Self.checksum(bytes)
            return """
                RemoteSystems account \(account).
                Anyone who has this file and its passphrase controls the account. Keep them apart, and off this machine.
                To use it: remotesystems account import FILE

                \(PEMDocument(type: Self.type, derBytes: bytes).pemString)

                """
        } catch {
            throw IdentityError(
                .cryptography,
                "The recovery file could not be made. If this machine is short of memory, free some and try again.",
                cause: error
            )
        }
    }

    // MARK: Reading

    static func open(_ text: String, passphrase: [UInt8], path: String) throws(IdentityError) -> Content {
        func damaged(_ what: String) -> IdentityError {
            IdentityError(
                .recoveryDamaged,
                "\(path) \(what). Its passphrase was not tried; use another copy of the file.",
                path: path
            )
        }
        guard let document = try? PEMDocument(pemString: text), document.discriminator == Self.type else {
            throw damaged("is not a recovery file, or not a complete one")
        }
        let headerCount = Self.factorsCount + Self.saltCount
        let bytes = document.derBytes
        guard bytes.count > headerCount + Self.nonceCount + Self.tagCount + Self.checksumCount else {
            throw damaged("is cut short")
        }
        let body = Array(bytes.dropLast(Self.checksumCount))
        guard Self.checksum(body) == Array(bytes.suffix(Self.checksumCount)) else {
            throw damaged("was changed or cut: its checksum is wrong")
        }
        guard body[0] == Self.version else {
            throw IdentityError(
                .unsupportedFormat,
                "\(path) has format \(body[0]); this version reads \(Self.version) only. Update this software.",
                path: path
            )
        }
        let factors = WorkFactors(logN: body[1], r: body[2], p: body[3])
        guard factors.isBearable else {
            throw damaged("needs more work for its passphrase than this software allows")
        }
        let header = Array(body[..<headerCount])
        let rest = body[headerCount...]
        let key: SymmetricKey
        do {
            key = try Self.key(passphrase, header: header, factors: factors)
        } catch {
            throw IdentityError(
                .cryptography,
                "\(path) could not be opened: this machine has too little free memory. Free some and try again.",
                path: path,
                cause: error
            )
        }
        let plain: Data
        do {
            plain = try AES.GCM.open(
                AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: rest.prefix(Self.nonceCount)),
                    ciphertext: rest.dropFirst(Self.nonceCount).dropLast(Self.tagCount),
                    tag: rest.suffix(Self.tagCount)
                ),
                using: key,
                authenticating: header
            )
        } catch {
            throw IdentityError(
                .wrongPassphrase,
                "The passphrase does not open \(path). The file itself is whole; try the passphrase again.",
                path: path
            )
        }
        guard let content = try? JSONDecoder().decode(Content.self, from: plain) else {
            throw damaged("does not hold an account")
        }
        return content
    }

    private static func key(_ passphrase: [UInt8], header: [UInt8], factors: WorkFactors) throws -> SymmetricKey {
        try KDF.Scrypt.deriveKey(
            from: passphrase,
            salt: Array(header.dropFirst(Self.factorsCount)),
            outputByteCount: 32,
            rounds: 1 << Int(factors.logN),
            blockSize: Int(factors.r),
            parallelism: Int(factors.p)
        )
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: bytes).prefix(Self.checksumCount))
    }
}
