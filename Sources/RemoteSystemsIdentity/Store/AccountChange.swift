// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What became of a store's account when another one took its place.
public struct AccountChange: Sendable {
    /// Who this system is now.
    public let identity: SystemIdentity

    /// The directory to which the account that was there before was moved, whole, or nil if there was none. It is never
    /// deleted; tell the user where it is.
    public let setAside: String?
}
