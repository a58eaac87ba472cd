// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a system receives when it joins an account.
package struct JoinedAccount: Sendable {
    package var identity: SystemIdentity
    /// The systems that were revoked before; `nil` if there are none.
    package var revocations: RevocationList?

    package init(identity: SystemIdentity, revocations: RevocationList? = nil) {
        self.identity = identity
        self.revocations = revocations
    }
}
