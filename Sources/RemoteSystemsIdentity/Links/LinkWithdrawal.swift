// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The notice that an account has withdrawn a link, signed by its root key (`Docs/wire/links.md`).
///
/// Because of the signature, no single system of an account can end the account's link, and any system may pass the
/// notice on.
package struct LinkWithdrawal: Hashable, Sendable {
    /// The number of the list of links that holds the withdrawal.
    package let number: UInt64
    /// The notice as stored and sent: the number (8 bytes, big-endian), the signature (64 bytes).
    package let bytes: [UInt8]

    package static let byteCount = 72
    private static let numberCount = 8
    private static let context = Array("remote-systems/1 link withdrawn".utf8)

    /// Reads a notice and verifies its signature.
    ///
    /// - Parameters:
    ///   - roots: The root keys of the account that withdrew the link.
    ///   - account: The account that it was linked with.
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    package init(_ bytes: [UInt8], by roots: RootChain, of account: AccountID) throws(TrustError) {
        guard bytes.count == Self.byteCount else {
            throw TrustError(.malformed, "The notice that a link was withdrawn has an invalid length.")
        }
        let signed = Self.signed(bytes.prefix(Self.numberCount), by: roots.accountID, of: account)
        guard
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes.dropFirst(Self.numberCount)),
            roots.signer({ $0.isValidSignature(signature, for: signed) }) != nil
        else {
            throw TrustError(
                .badSignature,
                """
                A notice that a link was withdrawn was not signed by the other account's key. The system that sent it \
                is faulty or hostile; nothing was changed.
                """
            )
        }
        self.number = bytes.prefix(Self.numberCount).reduce(0) { $0 << 8 | UInt64($1) }
        self.bytes = bytes
    }

    init(
        number: UInt64,
        by account: AccountID,
        of other: AccountID,
        signing key: P256.Signing.PrivateKey
    ) throws(IdentityError) {
        let head = (0..<Self.numberCount).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        self.number = number
        do {
            let signature = try key.signature(for: Self.signed(head[...], by: account, of: other))
            self.bytes = head + signature.rawRepresentation
        } catch {
            throw .unsignedLinks(error)
        }
    }

    private static func signed(_ number: ArraySlice<UInt8>, by account: AccountID, of other: AccountID) -> [UInt8] {
        Self.context + account.bytes + other.bytes + number
    }
}
