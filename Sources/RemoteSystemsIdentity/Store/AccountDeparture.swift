// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What was deleted when a system left its account.
public struct AccountDeparture: Sendable, Hashable {
    /// The account that the system belonged to.
    public let account: AccountID

    /// The id that the system had. It never gets it again.
    public let system: SystemID

    /// Whether the account's root key was on this system. It was deleted with the rest.
    public let heldRootKey: Bool

    /// The directories of accounts that were set aside earlier, when another one took their place. They hold keys and
    /// are left alone.
    public let setAside: [String]
}
