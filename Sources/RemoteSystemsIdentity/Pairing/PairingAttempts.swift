// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The failed pairing attempts that this user started, as a value. Three within an hour lock pairing for an hour.
///
/// Each attempt gives an attacker between the two machines one guess in a million. The lock bounds the guesses.
/// Attempts that other machines started do not count, so no other machine can lock pairing here.
package struct PairingAttempts: Hashable, Sendable {
    /// The times of the failures, oldest first, in seconds since 1970.
    private var failures: [Int64] = []

    package static let maxFailures = 3
    /// The time during which a failure counts, and for which pairing is locked. In seconds.
    package static let lockTime: TimeInterval = 3600

    package init() {}

    /// The end of the lock; `nil` if pairing is not locked.
    package func locked(at now: Date) -> Date? {
        // ``fail(at:)`` keeps failures of one hour only, so that three of them lock pairing, whatever their age is now.
        guard self.failures.count >= Self.maxFailures, let last = self.counting(at: now).last else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(last) + Self.lockTime)
    }

    package mutating func fail(at now: Date) {
        self.failures = self.counting(at: now).suffix(Self.maxFailures - 1) + [Self.seconds(now)]
    }

    /// The failures that still count. Those in the future were recorded before the clock was set back. They count for
    /// as long as others, and not until the clock reaches them.
    private func counting(at now: Date) -> [Int64] {
        let seconds = Self.seconds(now)
        let time = Int64(Self.lockTime)
        return self.failures.filter { $0 > seconds - time && $0 <= seconds + time }.map { min($0, seconds) }
    }

    private static func seconds(_ date: Date) -> Int64 { Int64(min(max(date.timeIntervalSince1970, 0), 1e11)) }

    // MARK: File

    /// One line for each failure.
    var text: String { self.failures.map { "\($0)\n" }.joined() }

    /// Reads the file's text. Lines of another form are ignored.
    init(text: String) {
        self.failures = text.split(separator: "\n").prefix(64).compactMap { Int64($0) }
            .filter { (0...100_000_000_000).contains($0) }.sorted().suffix(Self.maxFailures)
    }
}

/// The file `pairing-failures` of the store. It stays when the account changes, because joining an account must not end
/// a lock.
extension AccountStore {
    static let pairingFailuresName = "pairing-failures"

    /// Checks that this user may start a pairing.
    ///
    /// - Throws: ``IdentityError/Code/pairingLocked``; the errors of a store that cannot be used.
    package func checkPairing(now: Date) throws(IdentityError) {
        guard let state = try SecretDirectory.open(path: self.directory),
            let end = try Self.pairingAttempts(in: state).locked(at: now)
        else { return }
        throw IdentityError(
            .pairingLocked,
            """
            Pairing is locked until \(end.formatted(.iso8601)) after \(PairingAttempts.maxFailures) failed comparisons \
            on this machine. If the digits differed, a third machine was between the two. To add a machine now, use an \
            invitation ('remotesystems account invite').
            """
        )
    }

    /// Records that a comparison failed which this user started.
    package func recordPairingFailure(now: Date) throws(IdentityError) {
        try self.changePairingAttempts { $0.fail(at: now) }
    }

    /// Forgets earlier failures after a pairing succeeded.
    package func forgetPairingFailures() throws(IdentityError) {
        guard let state = try SecretDirectory.open(path: self.directory),
            try state.contains(Self.pairingFailuresName)
        else { return }
        try self.changePairingAttempts { $0 = PairingAttempts() }
    }

    private func changePairingAttempts(_ change: (inout PairingAttempts) -> Void) throws(IdentityError) {
        let state = try SecretDirectory.make(path: self.directory)
        try state.withLock { () throws(IdentityError) in
            var attempts = try Self.pairingAttempts(in: state)
            change(&attempts)
            try state.replace(Self.pairingFailuresName, Array(attempts.text.utf8))
        }
    }

    private static func pairingAttempts(in state: borrowing SecretDirectory) throws(IdentityError) -> PairingAttempts {
        guard let bytes = try state.read(Self.pairingFailuresName) else { return PairingAttempts() }
        return PairingAttempts(text: String(decoding: bytes, as: UTF8.self))
    }

    /// What this system can do when it pairs with another one of the same person.
    ///
    /// - Parameter evenIfShared: Whether to leave the present account even if other systems belong to it.
    /// - Throws: ``IdentityError/Code/notAuthority`` if the system can do nothing: it can neither admit another system
    ///   nor leave its account.
    package func pairingPurpose(evenIfShared: Bool, now: Date) throws(IdentityError) -> PairingIntention.Purpose {
        let identity = try self.identity(now: now)
        guard !evenIfShared else { return .ownAccount(admits: false, joins: true) }
        guard identity.isAuthority else { throw .cannotPair(identity.accountID) }
        let isPersonal =
            try self.reading { (account, _) throws(IdentityError) in try Self.isPersonal(account) } ?? true
        return .ownAccount(admits: true, joins: isPersonal)
    }

    /// Checks that what a pairing stores can be written, before persons compare digits for it.
    package func checkSpace(for purpose: PairingIntention.Purpose) throws(IdentityError) {
        switch purpose {
        case .ownAccount(let admits, let joins):
            if admits { try self.checkAdmission() }
            if joins { try self.checkNewAccount() }
        case .link:
            try self.checkGrowth(
                of: [StoredAccount.File.links, StoredAccount.File.learnedLinks, StoredAccount.File.heldLinks]
            )
        }
    }
}

extension IdentityError {
    fileprivate static func cannotPair(_ account: AccountID) -> IdentityError {
        IdentityError(
            .notAuthority,
            """
            This machine belongs to account \(account.short), whose root key is on another machine. So it can neither \
            admit a machine to the account nor join another account. To add a machine, run 'remotesystems pair' on the \
            machine with the root key ('remotesystems account show' prints 'authority' there). To move this machine to \
            another account, add '--leave-account'. 'remotesystems account systems' lists the account's machines.
            """
        )
    }
}
