// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Why an account, a system's identity, an invitation or a recovery file could not be used.
///
/// ``message`` is written for the person at the machine: it names the file, what is wrong with it and what to do, so
/// show it to them. ``description`` is the same. Neither holds a secret; in a log that others read, ``code`` names the kind of
/// failure without a path.
public struct IdentityError: Error, Sendable {
    /// The kind of failure.
    public var code: Code

    /// What happened, whether trying again can help, and what to do; may name files of this user.
    public var message: String

    /// The file or directory that is meant, if one is.
    public var path: String?

    /// The failure underneath, if there is one.
    public var cause: (any Error)?

    package init(_ code: Code, _ message: String, path: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }
}

extension IdentityError {
    /// A kind of failure. New kinds may be added in any release, so a `switch` over codes needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case noStateDirectory, permissions, wrongOwner, notAPlainFile, damaged, unsupportedFormat
            case notAllowed, diskFull, inputOutput, busy, wrongClock, cryptography
            case notAuthority, accountInUse, rejectedCertificate, tooManySystems, rootKeyWouldBeLost, accountLeft
            case rootKeysUsedUp, conflictingRoots
            case invitationMalformed, invitationExpired, invitationUsed, wrongSecret, wrongAccount, joinFailed
            case weakPassphrase, wrongPassphrase, recoveryDamaged, fileExists, fileMissing
        }

        private let kind: Kind

        /// The code's name, which is stable and fit for logs and scripts.
        public var description: String { self.kind.rawValue }

        /// No directory to keep the identity in could be worked out from the environment.
        public static let noStateDirectory = Code(kind: .noStateDirectory)
        /// Others than the owner may read or change a file or directory that holds secrets.
        public static let permissions = Code(kind: .permissions)
        /// A file or directory belongs to another user than the one running this process.
        public static let wrongOwner = Code(kind: .wrongOwner)
        /// A symbolic link, directory or device stands where a plain file, or a directory, should be.
        public static let notAPlainFile = Code(kind: .notAPlainFile)
        /// A file is missing, cut short, or does not fit the others. Nothing was overwritten.
        public static let damaged = Code(kind: .damaged)
        /// A newer version of the software wrote the file.
        public static let unsupportedFormat = Code(kind: .unsupportedFormat)
        /// The operating system does not allow this process to read or write there.
        public static let notAllowed = Code(kind: .notAllowed)
        /// There is no room left on the file system, or the user's quota is used up.
        public static let diskFull = Code(kind: .diskFull)
        /// Reading or writing failed for another reason, which ``IdentityError/message`` tells.
        public static let inputOutput = Code(kind: .inputOutput)
        /// Another process kept the store locked for too long; trying again can help.
        public static let busy = Code(kind: .busy)
        /// This machine's clock cannot be right, so certificates made now would be of no use.
        public static let wrongClock = Code(kind: .wrongClock)
        /// The cryptographic library refused to work.
        public static let cryptography = Code(kind: .cryptography)
        /// The account's root key is not on this machine, and the operation needs it.
        public static let notAuthority = Code(kind: .notAuthority)
        /// The account in this store is shared with other systems and was not replaced.
        public static let accountInUse = Code(kind: .accountInUse)
        /// A certificate or a request for one failed its checks.
        public static let rejectedCertificate = Code(kind: .rejectedCertificate)
        /// The account has as many systems as it can hold.
        public static let tooManySystems = Code(kind: .tooManySystems)
        /// The operation would delete the account's root key. Nothing was changed.
        public static let rootKeyWouldBeLost = Code(kind: .rootKeyWouldBeLost)
        /// The account's root key was replaced as often as it can be.
        public static let rootKeysUsedUp = Code(kind: .rootKeysUsedUp)
        /// The account's root key was replaced twice, by different keys. Nothing was changed.
        public static let conflictingRoots = Code(kind: .conflictingRoots)
        /// This system left its account while the process was using it.
        public static let accountLeft = Code(kind: .accountLeft)
        /// The text is not an invitation.
        public static let invitationMalformed = Code(kind: .invitationMalformed)
        /// The invitation's time is over.
        public static let invitationExpired = Code(kind: .invitationExpired)
        /// The invitation was used already, or was withdrawn after too many wrong secrets.
        public static let invitationUsed = Code(kind: .invitationUsed)
        /// The other side does not know the invitation's secret.
        public static let wrongSecret = Code(kind: .wrongSecret)
        /// The other side belongs to another account than the invitation says.
        public static let wrongAccount = Code(kind: .wrongAccount)
        /// The other side broke the rules of joining.
        public static let joinFailed = Code(kind: .joinFailed)
        /// The passphrase is too short to protect a recovery file.
        public static let weakPassphrase = Code(kind: .weakPassphrase)
        /// The passphrase does not open the recovery file.
        public static let wrongPassphrase = Code(kind: .wrongPassphrase)
        /// The recovery file is cut short or changed.
        public static let recoveryDamaged = Code(kind: .recoveryDamaged)
        /// A file is there already and was not overwritten.
        public static let fileExists = Code(kind: .fileExists)
        /// The named file does not exist.
        public static let fileMissing = Code(kind: .fileMissing)
    }
}

extension IdentityError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The message.
    public var description: String { self.message }

    /// Everything known about the failure, paths included; never a secret.
    public var debugDescription: String {
        var text = "IdentityError(\(self.code)): \(self.message)"
        if let path { text += " [\(path)]" }
        if let cause { text += " [cause: \(cause)]" }
        return text
    }
}
