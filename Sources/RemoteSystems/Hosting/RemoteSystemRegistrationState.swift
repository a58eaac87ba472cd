// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

/// Whether other systems of the account can find and reach a host.
///
/// The raw values are those of Project Rome, where they described a push service. Here they describe the host's
/// advertisement and the certificate by which other systems recognise this one.
public struct RemoteSystemRegistrationState: NumberedEnumeration {
    /// The number of the state, as Project Rome defines it. Unknown numbers are kept.
    public var rawValue: Int

    /// Creates a state with a number, which may be unknown to this version.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The host does not run, its advertisement is not in effect (not yet, switched off, or refused by discovery), or
    /// this system's identity cannot be used. A running host may still be reachable by its address.
    public static let unregistered = RemoteSystemRegistrationState(rawValue: 0)
    /// The host runs and is advertised, and its certificate is valid.
    public static let registered = RemoteSystemRegistrationState(rawValue: 1)
    /// The host runs and is advertised, but its certificate is due for renewal: the host has not met a system that
    /// holds the account's root key.
    public static let expiring = RemoteSystemRegistrationState(rawValue: 2)
    /// The host runs and is advertised, but its certificate has expired: other systems neither accept its connections
    /// nor connect to it.
    public static let expired = RemoteSystemRegistrationState(rawValue: 3)

    static let names = ["unregistered", "registered", "expiring", "expired"]
}

extension RemoteSystemRegistrationState {
    init(of identity: SystemIdentity, at now: Date) {
        if now >= identity.certificateValidity.upperBound {
            self = .expired
        } else {
            self = identity.isRenewalDue(at: now) ? .expiring : .registered
        }
    }
}
