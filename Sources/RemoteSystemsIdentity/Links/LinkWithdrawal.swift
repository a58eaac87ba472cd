// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The notice that an account has withdrawn a link, signed by its root key (`Docs/wire/links.md`).
///
/// Because of the signature, no single system of an account can end the account's link, and any system may pass the
/// notice on.
package struct LinkWithdrawal: Hashable, Sendable {
    /// The number of the list of links that holds the withdrawal. At most ``LinkList/maxNumber``.
    package let number: UInt64
    /// The number of the root key that signed the notice, from 1.
    package let root: Int
    /// The notice as stored and sent: the number (8 bytes, big-endian), the signature (64 bytes).
    package let bytes: [UInt8]

    package static let byteCount = UInt64.byteCount + RootStatement.signatureBytes

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
        let (body, root) = try roots.verified(bytes, as: .linkWithdrawal, for: account.bytes)
        self.number = UInt64(bigEndianBytes: body)
        self.root = root
        self.bytes = bytes
        guard self.number <= LinkList.maxNumber else {
            throw TrustError(.malformed, "The notice that a link was withdrawn has an invalid number.")
        }
    }

    /// The place of the notice in the order of its account's notices.
    var position: TrustPosition { TrustPosition(root: self.root, number: self.number) }

    init(
        number: UInt64,
        by account: AccountID,
        of other: AccountID,
        root: Int = 1,
        signing key: P256.Signing.PrivateKey
    ) throws(IdentityError) {
        self.number = number
        self.root = root
        self.bytes = try RootStatement.linkWithdrawal.signed(
            number.bigEndianBytes,
            by: account,
            for: other.bytes,
            with: key
        )
    }
}
