// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The account, the system id and the key that were deleted when a system left its account.
public struct AccountDeparture: Sendable, Hashable {
    /// The account that the system belonged to.
    public let account: AccountID

    /// The id that the system had. The system never gets this id again.
    public let system: SystemID

    /// Whether the account's root key was stored on this system. If so, it was deleted with the other files.
    public let heldRootKey: Bool

    /// The directories of accounts that were replaced earlier and moved aside.
    ///
    /// They hold keys. Leaving an account does not delete them.
    public let setAside: [String]
}
