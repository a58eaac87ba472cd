// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The reason why a system's certificate was not trusted.
///
/// Neither ``message`` nor ``description`` holds a name or a secret, so both may be logged.
public struct TrustError: Error, Hashable, Sendable {
    /// The rule that the certificate broke.
    public var code: Code

    /// The description of what is wrong, whether trying again can help, and what to do.
    public var message: String

    /// The ``message``, worded for the system that the certificate belongs to.
    package var messageToPeer: String

    /// The notice for the other system that its account's link with this account was withdrawn; `nil` for other
    /// reasons.
    package internal(set) var withdrawal: LinkWithdrawal?

    /// The system whose certificate a root key of its account has signed; `nil` if that is not proved.
    package internal(set) var system: SystemID?

    /// Creates an error with the messages for both sides.
    ///
    /// - Parameter messageToPeer: `nil` if the message is the same on both sides.
    init(_ code: Code, _ message: String, toPeer messageToPeer: String? = nil) {
        self.code = code
        self.message = message
        self.messageToPeer = messageToPeer ?? message
    }
}

extension TrustError {
    /// A rule that a certificate can break. Any release may add codes, so a `switch` over codes needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case notOurAccount, expired, notYetValid, malformed, wrongUsage, identityMismatch, revoked, badSignature
            case retiredRoot, conflictingRoots, linkWithdrawn, grantsChanged
        }

        private let kind: Kind

        /// The code's name. It is stable, so logs and scripts can use it.
        public var description: String { self.kind.rawValue }

        /// The certificate names another account, or none.
        public static let notOurAccount = Code(kind: .notOurAccount)
        /// The certificate has expired by this machine's clock.
        public static let expired = Code(kind: .expired)
        /// The certificate is not valid yet by this machine's clock.
        public static let notYetValid = Code(kind: .notYetValid)
        /// The bytes are not a certificate of the one accepted form.
        public static let malformed = Code(kind: .malformed)
        /// The certificate is for another purpose than identifying a system.
        public static let wrongUsage = Code(kind: .wrongUsage)
        /// The certificate names another system than the one whose key is in it.
        public static let identityMismatch = Code(kind: .identityMismatch)
        /// The system was revoked from the account.
        public static let revoked = Code(kind: .revoked)
        /// The certificate names this system's account, but the account did not sign it.
        public static let badSignature = Code(kind: .badSignature)
        /// The certificate was signed by a root key that the account has replaced.
        public static let retiredRoot = Code(kind: .retiredRoot)
        /// The account's root key was replaced twice, by different keys, and the two systems follow different ones.
        public static let conflictingRoots = Code(kind: .conflictingRoots)
        /// The link between the two accounts was withdrawn.
        public static let linkWithdrawn = Code(kind: .linkWithdrawn)
        /// The grants of the link between the two accounts changed or ended. The other system can connect again.
        public static let grantsChanged = Code(kind: .grantsChanged)
    }
}

extension TrustError: CustomStringConvertible {
    /// The code and the message.
    public var description: String { "TrustError(\(self.code)): \(self.message)" }
}
