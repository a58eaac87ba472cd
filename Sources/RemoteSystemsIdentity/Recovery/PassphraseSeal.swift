// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials

/// Bytes that are encrypted with a passphrase.
///
/// The form: version, work factors, salt, nonce, sealed bytes, checksum. The key is derived from the passphrase with
/// scrypt (RFC 7914). The bytes are sealed with AES-256-GCM, which also authenticates the bytes before the nonce. The
/// checksum covers all bytes before it. It distinguishes damaged bytes from a wrong passphrase, and reveals nothing
/// about the content or the passphrase.
enum PassphraseSeal {
    private static let version: UInt8 = 1
    private static let saltCount = 16
    private static let nonceCount = 12
    private static let tagCount = 16
    private static let checksumCount = 8
    /// The length of the version and the work factors: version, log2 of N, r, p, one byte each.
    private static let factorsCount = 4

    static let shortestPassphrase = 8

    /// The reason why bytes could not be sealed or opened.
    enum Failure: Error {
        /// The passphrase is shorter than ``shortestPassphrase``.
        case weakPassphrase
        /// The bytes are cut short, were changed, or need too much work. The passphrase was not tried.
        case damaged(String)
        /// A later version sealed the bytes.
        case unsupported(version: UInt8)
        /// The passphrase does not open the bytes.
        case wrongPassphrase
        /// The machine has too little memory, or the library failed.
        case failed(any Error)
    }

    /// scrypt's parameters. The sealed bytes record them, so later versions can raise them.
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

    static func seal(
        _ plain: [UInt8],
        _ passphrase: [UInt8],
        factors: WorkFactors = .standard
    ) throws(Failure) -> [UInt8] {
        guard passphrase.count >= Self.shortestPassphrase else { throw .weakPassphrase }
        do {
            var header: [UInt8] = [Self.version, factors.logN, factors.r, factors.p]
            header += (0..<Self.saltCount).map { _ in UInt8.random(in: .min ... .max) }
            let key = try Self.key(passphrase, header: header, factors: factors)
            let sealed = try AES.GCM.seal(plain, using: key, authenticating: header)
            var bytes = header + Array(sealed.nonce) + Array(sealed.ciphertext) + Array(sealed.tag)
            bytes += Self.checksum(bytes)
            return bytes
        } catch {
            throw .failed(error)
        }
    }

    /// The parts of sealed bytes.
    struct Parts {
        /// The version, the work factors and the salt.
        let header: [UInt8]
        let factors: WorkFactors
        let nonce: [UInt8]
        let ciphertext: [UInt8]
        let tag: [UInt8]

        /// Checks everything that needs no passphrase.
        init(_ bytes: [UInt8]) throws(Failure) {
            let headerCount = PassphraseSeal.factorsCount + PassphraseSeal.saltCount
            guard
                bytes.count > headerCount + PassphraseSeal.nonceCount + PassphraseSeal.tagCount
                    + PassphraseSeal.checksumCount
            else { throw .damaged("is cut short") }
            let body = Array(bytes.dropLast(PassphraseSeal.checksumCount))
            guard PassphraseSeal.checksum(body) == Array(bytes.suffix(PassphraseSeal.checksumCount)) else {
                throw .damaged("was changed or cut: its checksum is wrong")
            }
            guard body[0] == PassphraseSeal.version else { throw .unsupported(version: body[0]) }
            self.factors = WorkFactors(logN: body[1], r: body[2], p: body[3])
            guard self.factors.isBearable else {
                throw .damaged("needs more work for its passphrase than this software allows")
            }
            self.header = Array(body[..<headerCount])
            let rest = body[headerCount...]
            self.nonce = Array(rest.prefix(PassphraseSeal.nonceCount))
            self.ciphertext = Array(rest.dropFirst(PassphraseSeal.nonceCount).dropLast(PassphraseSeal.tagCount))
            self.tag = Array(rest.suffix(PassphraseSeal.tagCount))
        }
    }

    static func open(_ bytes: [UInt8], _ passphrase: [UInt8]) throws(Failure) -> [UInt8] {
        let parts = try Parts(bytes)
        let key: SymmetricKey
        do {
            key = try Self.key(passphrase, header: parts.header, factors: parts.factors)
        } catch {
            throw .failed(error)
        }
        do {
            return Array(
                try AES.GCM.open(
                    AES.GCM.SealedBox(
                        nonce: AES.GCM.Nonce(data: parts.nonce),
                        ciphertext: parts.ciphertext,
                        tag: parts.tag
                    ),
                    using: key,
                    authenticating: parts.header
                )
            )
        } catch {
            throw .wrongPassphrase
        }
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

    static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: bytes).prefix(Self.checksumCount))
    }
}
