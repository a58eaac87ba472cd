// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Why an invitation ended before a system joined.
extension IdentityError {
    /// A system was revoked: the invitation may be in its hands.
    package static var withdrawnInvitation: IdentityError {
        .invitationEnded(because: "a system was revoked from the account")
    }

    /// The account's root key was replaced.
    package static var outdatedInvitation: IdentityError {
        .invitationEnded(because: "the account's root key was replaced")
    }

    /// This machine has another account now, or none.
    package static var formerInvitation: IdentityError {
        .invitationEnded(because: "this machine left or replaced its account")
    }

    private static func invitationEnded(because reason: String) -> IdentityError {
        IdentityError(
            .invitationUsed,
            """
            The invitation was withdrawn, because \(reason) while it was open. No system has joined. Make a new one \
            ('remotesystems account invite').
            """
        )
    }
}
