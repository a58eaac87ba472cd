// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The kinds of statements that an account's root key signs, beside certificates.
///
/// A signature is over the kind's text, the account's id, further bytes that the kind names, and the statement. So a
/// signature of one kind, or of another account, is valid for nothing else. The signature follows the statement: the
/// 64 bytes of *r* and *s* of ECDSA (P-256, SHA-256).
enum RootStatement: String {
    case revocationList = "remote-systems/1 revoked"
    case discoveryKey = "remote-systems/1 discovery"
    case linkList = "remote-systems/1 links"
    /// After the account's id follows the id of the account that it was linked with.
    case linkWithdrawal = "remote-systems/1 link withdrawn"
    /// After the account's id follow the 32 bytes that identify the pairing.
    case linkOffer = "remote-systems/1 link offer"

    static let signatureBytes = 64

    private var name: String {
        switch self {
        case .revocationList: "A revocation list"
        case .discoveryKey: "A discovery key"
        case .linkList: "A list of linked accounts"
        case .linkWithdrawal: "A notice that a link was withdrawn"
        case .linkOffer: "The offer of a link"
        }
    }

    /// Returns the statement with its signature.
    ///
    /// - Parameter further: the bytes that the kind names. Defaults to none.
    func signed(
        _ body: [UInt8],
        by account: AccountID,
        for further: [UInt8] = [],
        with key: P256.Signing.PrivateKey
    ) throws(IdentityError) -> [UInt8] {
        do {
            return try body + key.signature(for: self.input(body[...], account, further)).rawRepresentation
        } catch {
            throw IdentityError(
                .cryptography,
                "\(self.name) could not be signed. Nothing was changed; please report this.",
                cause: error
            )
        }
    }

    fileprivate func input(_ body: ArraySlice<UInt8>, _ account: AccountID, _ further: [UInt8]) -> [UInt8] {
        Array(self.rawValue.utf8) + account.bytes + further + body
    }

    /// The error for a statement that a retired root key signed. A thief of that key may have made it.
    var retired: TrustError {
        TrustError(
            .retiredRoot,
            """
            \(self.name) was signed by a root key that the account has replaced. Nothing was changed. A system that \
            does not know the newest root key yet may have sent it.
            """
        )
    }

    /// The error for a statement whose signature is invalid.
    var forged: TrustError {
        TrustError(
            .badSignature,
            """
            \(self.name) was not signed by the key of its account. The system that sent it is faulty or hostile; \
            nothing was changed.
            """
        )
    }
}

extension RootChain {
    /// Verifies a statement that ends with a signature of one of the account's root keys.
    ///
    /// - Parameters:
    ///   - bytes: the statement and its signature.
    ///   - further: the bytes that the kind names. Defaults to none.
    /// - Returns: the statement without its signature, and the number of the root key that signed it, from 1.
    /// - Throws: ``TrustError/Code/badSignature``.
    func verified(
        _ bytes: [UInt8],
        as kind: RootStatement,
        for further: [UInt8] = []
    ) throws(TrustError) -> (body: ArraySlice<UInt8>, root: Int) {
        let body = bytes.dropLast(RootStatement.signatureBytes)
        let input = kind.input(body, self.accountID, further)
        guard
            let signature = try? P256.Signing.ECDSASignature(
                rawRepresentation: bytes.suffix(RootStatement.signatureBytes)
            ),
            let root = self.signer({ $0.isValidSignature(signature, for: input) })
        else { throw kind.forged }
        return (body, root)
    }
}

extension UInt64 {
    /// The number of bytes of ``bigEndianBytes``.
    static let byteCount = 8

    /// The 8 bytes of the number, most significant first.
    var bigEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * UInt64($0))) } }

    /// Reads the number in the first 8 bytes, most significant first.
    init(bigEndianBytes bytes: ArraySlice<UInt8>) {
        self = bytes.prefix(Self.byteCount).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
