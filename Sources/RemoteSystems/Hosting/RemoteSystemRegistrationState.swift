// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

/// Whether other systems of the account can find and reach a host, and for how long.
///
/// The numbers are Project Rome's, where a push service stood behind them. Here they stand for the host's announcement
/// and for the certificate by which other systems recognise this one.
public struct RemoteSystemRegistrationState: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A state with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The host does not run, its announcement is not in effect (not yet, switched off, or refused by the network's
    /// discovery), or this system's identity cannot be used. A host that runs may still be reached by its address.
    public static let unregistered = RemoteSystemRegistrationState(rawValue: 0)
    /// The host runs and is announced, and its certificate is good for a while.
    public static let registered = RemoteSystemRegistrationState(rawValue: 1)
    /// The host runs and is announced, and its certificate should have been renewed: no system with the account's key
    /// was met.
    public static let expiring = RemoteSystemRegistrationState(rawValue: 2)
    /// The host runs and is announced, and its certificate has expired: no system accepts or opens a connection any
    /// more.
    public static let expired = RemoteSystemRegistrationState(rawValue: 3)
}

extension RemoteSystemRegistrationState: CustomStringConvertible {
    /// The state's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .unregistered: "unregistered"
        case .registered: "registered"
        case .expiring: "expiring"
        case .expired: "expired"
        default: "remoteSystemRegistrationState \(self.rawValue)"
        }
    }
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
