// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A message between the two sides of a pairing (`Docs/wire/pairing.md`).
package enum PairingMessage: Hashable, Sendable {
    /// The waiting side's commitment to its nonce, its key and its intention.
    case commitment([UInt8])
    /// The connecting side's nonce and intention, and the proof of its account (``PairingAccount``) or random bytes;
    /// `nil` from earlier versions.
    case answer(nonce: [UInt8], intention: [UInt8], account: [UInt8]? = nil)
    /// The waiting side's nonce and intention, to which it has committed.
    case reveal(nonce: [UInt8], intention: [UInt8])
    /// A person has confirmed the digits on the sending side. The code proves that it has the same transcript.
    case confirmed(code: [UInt8])
    /// The sending side ends the pairing.
    case refused(PairingRefusal)
    /// The root keys of the account that the other side may join, as ``RootChain/bytes``.
    case welcome(roots: [UInt8])
    /// A signing request for the key of the sender's TLS certificate.
    case request([UInt8])
    /// The joining side's certificate, and what else it receives as a system of the account.
    case accepted(AccountAdmission)
    /// The sender's offer of a link, as ``LinkOffer/encoded()``, and the signature of its account's newest root key.
    case offer([UInt8], signature: [UInt8])
    /// The sender has stored what it received.
    case done
}

extension PairingMessage: CustomStringConvertible, CustomReflectable {
    /// The kind of message. Some messages hold secrets.
    package var description: String {
        switch self {
        case .commitment: "commitment"
        case .answer: "answer"
        case .reveal: "reveal"
        case .confirmed: "confirmed"
        case .refused(let reason): "refused(\(reason.rawValue))"
        case .welcome: "welcome"
        case .request: "request"
        case .accepted: "accepted"
        case .offer: "offer"
        case .done: "done"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason for which a side ends a pairing. The raw values are on the wire and frozen.
package enum PairingRefusal: String, Hashable, Sendable, CaseIterable {
    /// The person at the sending side did not confirm the digits.
    case denied
    /// The program at the sending side was stopped before both persons had confirmed. Its person has not denied
    /// anything.
    case cancelled
    /// The digits were not confirmed in time.
    case timedOut = "timed-out"
    /// The sending side is in another attempt.
    case busy
    /// The purposes of the two sides do not fit each other.
    case purpose
    /// Both sides are systems of one account.
    case sameAccount = "same-account"
    /// The receiver broke the protocol.
    case malformed
    /// The sending side could not store or make something.
    case failed
}
