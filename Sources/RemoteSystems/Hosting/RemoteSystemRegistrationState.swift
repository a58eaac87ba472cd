// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

/// Whether others of the account can reach a host, and for how long.
///
/// The numbers are Project Rome's, where a push service stood behind them; here it is the certificate by which the others
/// recognise this system.
public struct RemoteSystemRegistrationState: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A state with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The host does not run, or this system's identity cannot be used.
    public static let unregistered = RemoteSystemRegistrationState(rawValue: 0)
    /// It runs, and its certificate is good for a while.
    public static let registered = RemoteSystemRegistrationState(rawValue: 1)
    /// It runs, and its certificate should have been renewed: no machine with the account's key has been met.
    public static let expiring = RemoteSystemRegistrationState(rawValue: 2)
    /// Its certificate has run out: nobody takes or opens a connection any more.
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
