// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The inviter's side of one invitation: whether it is still good. One for all connections that try to use it.
///
/// A successful join uses it up. So does the third wrong proof. A wrong secret cannot be a lucky guess in the making (it
/// has 128 bits), so the limit is not there to stop guessing; it bounds what strangers can make this system compute.
/// That it is three and not one is for the owner: a mistyped invitation, or one stray connection, does not spoil it.
package struct OpenInvitation: Sendable {
    package static let maxWrongProofs = 3

    package let invitation: Invitation
    private var wrongProofs = 0
    private var isUsed = false

    package init(_ invitation: Invitation) {
        self.invitation = invitation
    }

    /// Whether it can still be used at `now`.
    package func isGood(at now: Date) -> Bool { self.refusal(at: now) == nil }

    func refusal(at now: Date) -> JoinRefusal? {
        if self.isUsed || self.wrongProofs >= Self.maxWrongProofs { return .alreadyUsed }
        return now < self.invitation.expiry ? nil : .expired
    }

    mutating func sawWrongProof() { self.wrongProofs += 1 }

    mutating func use() { self.isUsed = true }
}

extension OpenInvitation: CustomStringConvertible {
    package var description: String { "open \(self.invitation)" }
}
