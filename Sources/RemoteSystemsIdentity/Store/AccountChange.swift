// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The result of replacing a store's account with another one.
public struct AccountChange: Sendable {
    /// This system's identity in the new account.
    public let identity: SystemIdentity

    /// The directory to which the previous account was moved as a whole; `nil` if there was none.
    ///
    /// The software never deletes this directory: show its path to the user.
    public let setAside: String?
}
