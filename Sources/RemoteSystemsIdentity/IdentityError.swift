// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The reason why an account, a system's identity, an invitation or a recovery file could not be used.
///
/// ``message`` is written for the user of this machine: it names the file, the problem and what to do. ``description``
/// has the same text. Neither holds a secret. In a log that others read, use ``code``, which names the kind of failure
/// without a path.
public struct IdentityError: Error, Sendable {
    /// The kind of failure, for programs and logs.
    public var code: Code

    /// The description of what happened, whether trying again can help, and what to do. May contain file names of this
    /// user.
    public var message: String

    /// The file or directory that the failure concerns; `nil` if there is none.
    public var path: String?

    /// The underlying error; `nil` if there is none.
    public var cause: (any Error)?

    package init(_ code: Code, _ message: String, path: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }
}

extension IdentityError {
    /// A kind of failure. Any release may add kinds, so a `switch` over codes needs a `default`.
    ///
    /// After ``busy``, trying again can help without any change.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case noStateDirectory, permissions, wrongOwner, notAPlainFile, damaged, unsupportedFormat
            case notAllowed, diskFull, inputOutput, busy, cancelled, wrongClock, cryptography
            case notAuthority, accountInUse, rejectedCertificate, tooManySystems, rootKeyWouldBeLost, accountLeft
            case rootKeysUsedUp, conflictingRoots, revocationsLost, systemRevoked
            case invalidLink, tooManyLinks, unknownLink
            case invitationMalformed, invitationExpired, invitationUsed, wrongSecret, wrongAccount, joinFailed
            case pairingDenied, pairingRefused, pairingTimedOut, pairingBusy, pairingMismatch, pairingFailed,
                pairingLocked
            case invalidPublisher
            case weakPassphrase, wrongPassphrase, recoveryDamaged, fileExists, fileMissing
        }

        private let kind: Kind

        /// The code's name. It is stable, so logs and scripts can use it.
        public var description: String { self.kind.rawValue }

        /// The environment does not name a directory for the account.
        public static let noStateDirectory = Code(kind: .noStateDirectory)
        /// Users other than the owner may read or change a file or directory that holds secrets.
        public static let permissions = Code(kind: .permissions)
        /// A file or directory belongs to another user than the one running this process.
        public static let wrongOwner = Code(kind: .wrongOwner)
        /// The path is a symbolic link, directory or device where a plain file is expected, or is not a directory where
        /// one is.
        public static let notAPlainFile = Code(kind: .notAPlainFile)
        /// A file is missing, incomplete, or does not match the other files. Nothing was overwritten.
        public static let damaged = Code(kind: .damaged)
        /// A newer version of the software wrote the file. Update this machine's software.
        public static let unsupportedFormat = Code(kind: .unsupportedFormat)
        /// The operating system does not allow this process to read or write the file or directory.
        public static let notAllowed = Code(kind: .notAllowed)
        /// The file system is full, or the user's quota is used up.
        public static let diskFull = Code(kind: .diskFull)
        /// Reading or writing failed for another reason, which ``IdentityError/message`` states.
        public static let inputOutput = Code(kind: .inputOutput)
        /// Another process kept the store locked for too long. Trying again can help.
        public static let busy = Code(kind: .busy)
        /// The calling task was cancelled. Nothing was changed.
        public static let cancelled = Code(kind: .cancelled)
        /// This machine's clock cannot be right, so certificates created with it would be unusable.
        public static let wrongClock = Code(kind: .wrongClock)
        /// The cryptographic library failed.
        public static let cryptography = Code(kind: .cryptography)
        /// The operation needs the account's root key, which is not on this machine.
        public static let notAuthority = Code(kind: .notAuthority)
        /// This system's account is in use: other systems share it, it is already the account to join, or this system
        /// itself would be revoked. Nothing was changed.
        public static let accountInUse = Code(kind: .accountInUse)
        /// A certificate or a request for one failed its checks.
        public static let rejectedCertificate = Code(kind: .rejectedCertificate)
        /// The account has the maximum number of joined systems (10 000) or of revoked systems (4096).
        public static let tooManySystems = Code(kind: .tooManySystems)
        /// The operation would delete the account's root key. Nothing was changed.
        public static let rootKeyWouldBeLost = Code(kind: .rootKeyWouldBeLost)
        /// The account has had 16 root keys, the maximum number.
        public static let rootKeysUsedUp = Code(kind: .rootKeysUsedUp)
        /// The account's root key was replaced twice, by different keys. Nothing was changed.
        public static let conflictingRoots = Code(kind: .conflictingRoots)
        /// The account's revocation list is missing, or an older one is in its place. Systems that were revoked would
        /// be trusted again, so the account is not used.
        public static let revocationsLost = Code(kind: .revocationsLost)
        /// This system was revoked from the account that it wanted to join with its old key.
        public static let systemRevoked = Code(kind: .systemRevoked)
        /// A link with another account, or its grants, break a rule that ``IdentityError/message`` states. Nothing was
        /// changed.
        public static let invalidLink = Code(kind: .invalidLink)
        /// The account has the maximum number of links with other accounts (24), or their grants are too large.
        public static let tooManyLinks = Code(kind: .tooManyLinks)
        /// The account has no link in force with the named account.
        public static let unknownLink = Code(kind: .unknownLink)
        /// This system left its account while the process was using it. `RemoteSystemHost.run()` ends with this error,
        /// a `RemoteSystemWatcher` stops and does not start again, and a call that would create another account throws
        /// it. Start the program again: it then uses the account that is stored, or creates a new one.
        public static let accountLeft = Code(kind: .accountLeft)
        /// The text is not an invitation.
        public static let invitationMalformed = Code(kind: .invitationMalformed)
        /// The invitation has expired.
        public static let invitationExpired = Code(kind: .invitationExpired)
        /// The invitation was used before, or was withdrawn because a system was revoked.
        public static let invitationUsed = Code(kind: .invitationUsed)
        /// The other side does not know the invitation's secret.
        public static let wrongSecret = Code(kind: .wrongSecret)
        /// The other side does not belong to the account that the invitation names.
        public static let wrongAccount = Code(kind: .wrongAccount)
        /// The other side violated the joining protocol.
        public static let joinFailed = Code(kind: .joinFailed)
        /// The digits of a pairing were not confirmed on this machine. A new attempt may succeed.
        public static let pairingDenied = Code(kind: .pairingDenied)
        /// The digits of a pairing were not confirmed on the other machine, or the pairing was stopped there. A new
        /// attempt may succeed.
        public static let pairingRefused = Code(kind: .pairingRefused)
        /// The digits of a pairing were not confirmed within 30 seconds. A new attempt may succeed.
        public static let pairingTimedOut = Code(kind: .pairingTimedOut)
        /// The other machine is busy with another attempt, or has just ended one. A new attempt may succeed after half
        /// a minute, unless three attempts from this machine's address have failed while the other one waits.
        public static let pairingBusy = Code(kind: .pairingBusy)
        /// The two machines want different things of a pairing, or neither can join the other's account.
        public static let pairingMismatch = Code(kind: .pairingMismatch)
        /// The other machine violated the protocol of pairing, or could not complete it.
        public static let pairingFailed = Code(kind: .pairingFailed)
        /// Three comparisons that this user started have failed. Pairing is locked for an hour.
        public static let pairingLocked = Code(kind: .pairingLocked)
        /// A publisher's keys or signature are not valid, or the publisher has had 16 keys, the maximum number.
        public static let invalidPublisher = Code(kind: .invalidPublisher)
        /// The passphrase is too short to protect a recovery file or a publisher's key.
        public static let weakPassphrase = Code(kind: .weakPassphrase)
        /// The passphrase does not open the recovery file or the publisher's key.
        public static let wrongPassphrase = Code(kind: .wrongPassphrase)
        /// The recovery file, or the file of a publisher's key, is incomplete or was changed.
        public static let recoveryDamaged = Code(kind: .recoveryDamaged)
        /// The file already exists and was not overwritten.
        public static let fileExists = Code(kind: .fileExists)
        /// The named file does not exist, or the store holds no account.
        public static let fileMissing = Code(kind: .fileMissing)
    }
}

extension IdentityError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The ``message``.
    public var description: String { self.message }

    /// The code, the message, the path and the cause. Holds no secret.
    public var debugDescription: String {
        var text = "IdentityError(\(self.code)): \(self.message)"
        if let path { text += " [\(path)]" }
        if let cause { text += " [cause: \(cause)]" }
        return text
    }
}
