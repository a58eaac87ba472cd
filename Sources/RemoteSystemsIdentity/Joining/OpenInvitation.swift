// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The inviter's state of one invitation, shared by all connections that try to use it.
///
/// A successful join uses it up. So does the third wrong proof. The limit is not there against guessing, which 128 bits
/// prevent: it bounds the work that unknown systems can cause here. It is three and not one so that one mistyped
/// invitation or unrelated connection does not spoil it.
package struct OpenInvitation: Sendable {
    package static let maxWrongProofs = 3

    package let invitation: Invitation
    private var wrongProofs = 0
    private var isUsed = false

    package init(_ invitation: Invitation) {
        self.invitation = invitation
    }

    /// Whether the invitation can still be used at `now`.
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
