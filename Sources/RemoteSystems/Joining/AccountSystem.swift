// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import RemoteSystemsIdentity

/// A system of this user's account, as far as this machine knows it.
public struct AccountSystem: Sendable, Hashable {
    /// The system's id.
    public let id: SystemID

    /// The name under which the system described itself last, joined, or paired with this machine; `nil` if it is not
    /// known here.
    public let name: String?

    /// The time at which this machine last stored that it met or admitted the system, to within a day; `nil` if it
    /// never did.
    public let lastMet: Date?

    /// The end of the certificate that the system presented last, or got here; `nil` if it is not known here. The
    /// system renews its certificate 30 days earlier, so a later certificate may exist.
    public let certificateEnd: Date?

    /// Whether the system was revoked.
    public let isRevoked: Bool

    /// Whether this is the system that the program runs on.
    public let isLocal: Bool

    /// Whether the system must join again, because the account's root key was stolen and replaced since it got its last
    /// certificate that is known here. On a machine without the root key, `false` for all systems but its own, because
    /// they join again elsewhere.
    package let mustJoinAgain: Bool

    /// Whether the root key was stolen once and no certificate of the system is known here, so that this machine does
    /// not know whether the system has joined again. `false` on a machine without the root key.
    package var isUnknownSinceTheft = false

    /// Whether the system was revoked before a stolen root key was replaced on this machine, and was not admitted
    /// since. It is not on the new list of revoked systems, because its certificate is invalid in any case.
    package var wasRevoked = false
}
