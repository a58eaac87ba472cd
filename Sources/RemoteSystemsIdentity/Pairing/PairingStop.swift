// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The end of a pairing that did not succeed.
package struct PairingStop: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The person at this side did not confirm the digits.
        case denied
        /// The person at this side did not answer in time.
        case unansweredHere
        /// The person at this side confirmed, and the other one did not answer in time.
        case unansweredThere
        /// The other side ended the pairing.
        case refused(PairingRefusal)
        /// This side is in another attempt.
        case busy
        /// So many attempts have failed that this side does not wait any longer.
        case tooManyAttempts
        /// The other side sent a message that was not due, or a wrong one.
        case outOfTurn, malformed
        case purposes(own: PairingIntention.Purpose, peer: PairingIntention.Purpose)
        /// The other side is a system of this side's account: it knows the account's discovery key.
        case sameAccount(AccountID)
    }

    package let reason: Reason
    /// The name that the other side gave itself; `nil` if this side has not received it. It proves nothing.
    var peerName: String?

    static let denied = PairingStop(reason: .denied)
    static let unansweredHere = PairingStop(reason: .unansweredHere)
    static let unansweredThere = PairingStop(reason: .unansweredThere)
    static let outOfTurn = PairingStop(reason: .outOfTurn)
    static let malformed = PairingStop(reason: .malformed)

    package static let busy = PairingStop(reason: .busy)
    package static let tooManyAttempts = PairingStop(reason: .tooManyAttempts)

    package static func refused(_ refusal: PairingRefusal) -> PairingStop { PairingStop(reason: .refused(refusal)) }

    static func purposes(own: PairingIntention.Purpose, peer: PairingIntention.Purpose) -> PairingStop {
        PairingStop(reason: .purposes(own: own, peer: peer))
    }

    static func sameAccount(_ account: AccountID) -> PairingStop { PairingStop(reason: .sameAccount(account)) }

    /// Creates the end of a pairing in which the other side broke the protocol.
    package static let broken = PairingStop(reason: .outOfTurn)

    /// The reason to send to the other side; `nil` if it has ended the pairing itself.
    package var refusal: PairingRefusal? {
        switch self.reason {
        case .denied: .denied
        case .unansweredHere, .unansweredThere: .timedOut
        case .refused: nil
        case .busy, .tooManyAttempts: .busy
        case .outOfTurn, .malformed: .malformed
        case .purposes: .purpose
        case .sameAccount: .sameAccount
        }
    }

    /// Whether the attempt counts towards the lock of ``PairingAttempts``, if this user started it.
    ///
    /// Only what happened on this side counts. Otherwise another machine could lock pairing here by refusing.
    package var isFailedComparison: Bool { self.reason == .denied || self.reason == .unansweredHere }

    /// Whether the other side has ended the pairing with a reason.
    package var isRefusedByPeer: Bool {
        if case .refused = self.reason { true } else { false }
    }

    /// Whether the other side, or the person there, is the cause.
    package var isCausedByPeer: Bool {
        switch self.reason {
        case .denied, .unansweredHere, .busy, .tooManyAttempts, .purposes, .sameAccount: false
        case .unansweredThere, .refused, .outOfTurn, .malformed: true
        }
    }

    /// The error for the person at this side.
    package var error: IdentityError {
        switch self.reason {
        case .denied:
            IdentityError(
                .pairingDenied,
                """
                The digits were not confirmed on this machine, so nothing was changed. If the other machine showed \
                different digits, a third machine may be between the two: try again on a network that you trust.
                """
            )
        case .unansweredHere:
            IdentityError(
                .pairingTimedOut,
                "The digits were not confirmed on this machine within 30 seconds, so nothing was changed. Try again."
            )
        case .unansweredThere:
            IdentityError(
                .pairingTimedOut,
                """
                The digits were not confirmed on the other machine within 30 seconds, so nothing was changed. Try \
                again.
                """
            )
        case .refused(let refusal): Self.error(for: refusal, by: self.peerName)
        case .busy: Self.error(for: .busy, by: self.peerName)
        case .tooManyAttempts:
            IdentityError(
                .pairingFailed,
                """
                Ten attempts to pair with this machine have failed, so it waits no longer, and nothing was changed. A \
                third machine may be trying digits: try again on a network that you trust.
                """
            )
        case .outOfTurn, .malformed:
            IdentityError(
                .pairingFailed,
                """
                The other machine broke the rules of pairing, so nothing was changed. Check that the address is right, \
                and use the same version of the software on both machines.
                """
            )
        case .purposes(let own, let peer): Self.error(for: own, peer)
        case .sameAccount(let account):
            IdentityError(
                .accountInUse,
                """
                Both machines belong to account \(account.short) already, so there is nothing to pair. Nothing was \
                changed. \(Self.oneAccountAdvice)
                """
            )
        }
    }

    /// What to do when both machines belong to one account.
    private static let oneAccountAdvice = """
        'remotesystems account systems' lists the account's machines. To join another account, or to link this one \
        with another person's, pair with a machine of that account.
        """

    private static func error(for refusal: PairingRefusal, by peerName: String?) -> IdentityError {
        switch refusal {
        case .denied:
            IdentityError(
                .pairingRefused,
                """
                The digits were not confirmed on the other machine, so nothing was changed. If both machines showed \
                the same digits, try again.
                """
            )
        case .cancelled:
            IdentityError(
                .pairingRefused,
                """
                The other machine\(peerName.map { ", which calls itself \($0.quoted)," } ?? "") reports that the \
                pairing was stopped there before the digits were confirmed on both. Nothing was changed. If both \
                machines showed the same digits, start it again there.
                """
            )
        case .timedOut: PairingStop.unansweredThere.error
        case .busy:
            IdentityError(
                .pairingBusy,
                """
                The other machine is busy with another attempt to pair, or has just ended one. Try again in a few \
                seconds. If the error stays, start 'remotesystems pair' there again: after three attempts from one \
                address that failed, it refuses further ones.
                """
            )
        case .purpose:
            IdentityError(
                .pairingMismatch,
                """
                The two machines want different things, so nothing was changed. Use '--link' on both machines to link \
                two accounts, or on neither to have both in one account; the other machine shows the details.
                """
            )
        case .sameAccount:
            // The other side has not been authenticated.
            IdentityError(
                .accountInUse,
                """
                The other machine reports that both machines belong to one account already, so there is nothing to \
                pair. Nothing was changed. \(Self.oneAccountAdvice)
                """
            )
        case .malformed:
            IdentityError(
                .pairingFailed,
                "The other machine could not use this one's message. Use the same version of the software on both."
            )
        case .failed:
            IdentityError(
                .pairingFailed,
                "The other machine failed to complete the pairing; it shows the reason. Nothing was changed here."
            )
        }
    }

    private static func error(
        for own: PairingIntention.Purpose,
        _ peer: PairingIntention.Purpose
    ) -> IdentityError {
        let text =
            switch (own, peer) {
            case (.link, .link), (.link, .ownAccount):
                """
                This machine is to link two accounts, and the other one to have both machines in one account. If the \
                accounts of two persons are to be linked, use '--link' on both machines.
                """
            case (.ownAccount, .link):
                """
                This machine is to have both machines in one account, and the other one to link two accounts. If the \
                accounts of two persons are to be linked, use '--link' on both machines.
                """
            case (.ownAccount(admits: false, joins: true), .ownAccount(admits: false, joins: true)):
                """
                Each machine is to leave its account and join the other one's, so neither can admit the other. Use \
                '--leave-account' on one machine only, the one that is to change its account.
                """
            case (.ownAccount(_, joins: true), .ownAccount):
                """
                The other machine does not hold the root key of its account, so it cannot admit this one. Pair with \
                the machine of that account that holds the key.
                """
            case (.ownAccount, .ownAccount):
                """
                Both machines belong to accounts with other machines. If 'account show' prints the same account on \
                both, there is nothing to pair. Otherwise add '--leave-account' on the machine that is to change its \
                account; its present account is set aside, not deleted.
                """
            }
        return IdentityError(.pairingMismatch, "\(text) Nothing was changed.")
    }
}
