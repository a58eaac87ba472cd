// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The inviter's state of one invitation, shared by all connections that try to use it.
///
/// A successful join uses it up. A wrong proof does not: otherwise any machine that finds the port could end the
/// invitation. Guessing needs no limit, because the secret has 128 bits. The port bounds the work that unknown machines
/// can cause.
package struct OpenInvitation: Sendable {
    package let invitation: Invitation
    private var isUsed = false

    package init(_ invitation: Invitation) {
        self.invitation = invitation
    }

    /// Whether the invitation can still be used at `now`.
    package func isValid(at now: Date) -> Bool { self.refusal(at: now) == nil }

    func refusal(at now: Date) -> JoinRefusal? {
        if self.isUsed { return .alreadyUsed }
        return now < self.invitation.expiry ? nil : .expired
    }

    mutating func use() { self.isUsed = true }
}

extension OpenInvitation: CustomStringConvertible {
    package var description: String { "open \(self.invitation)" }
}
