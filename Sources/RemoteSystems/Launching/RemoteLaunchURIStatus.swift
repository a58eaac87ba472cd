// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How a launch ended.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is kept as it is; the error that
/// goes with it says so, and that it is not known whether something was opened.
public struct RemoteLaunchURIStatus: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Whether it was opened is not known, or it was not for another reason; the error that goes with it says which.
    public static let unknown = RemoteLaunchURIStatus(rawValue: 0)
    /// It has been opened.
    public static let success = RemoteLaunchURIStatus(rawValue: 1)
    /// The application that was to open it is not there, or cannot now.
    public static let appUnavailable = RemoteLaunchURIStatus(rawValue: 2)
    /// Nothing there opens URIs of this scheme.
    public static let protocolUnavailable = RemoteLaunchURIStatus(rawValue: 3)
    /// The system cannot be reached.
    public static let remoteSystemUnavailable = RemoteLaunchURIStatus(rawValue: 4)
    /// The input data is larger than ``RemoteLauncher/maxInputBytes``, or than the other side takes.
    public static let valueSetTooLarge = RemoteLaunchURIStatus(rawValue: 5)
    /// This system does not allow it: it does not trust the one that answers.
    public static let deniedByLocalSystem = RemoteLaunchURIStatus(rawValue: 6)
    /// The other system does not allow it, or somebody there said no.
    public static let deniedByRemoteSystem = RemoteLaunchURIStatus(rawValue: 7)
}

extension RemoteLaunchURIStatus {
    /// Whether this version knows what the number means.
    var isKnown: Bool { (0...7).contains(self.rawValue) }

    /// Whether it is certain that nothing was opened.
    var saysNothingWasOpened: Bool { self.isKnown && self != .unknown && self != .success }
}

extension RemoteLaunchURIStatus: CustomStringConvertible {
    /// The status's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .unknown: "unknown"
        case .success: "success"
        case .appUnavailable: "appUnavailable"
        case .protocolUnavailable: "protocolUnavailable"
        case .remoteSystemUnavailable: "remoteSystemUnavailable"
        case .valueSetTooLarge: "valueSetTooLarge"
        case .deniedByLocalSystem: "deniedByLocalSystem"
        case .deniedByRemoteSystem: "deniedByRemoteSystem"
        default: "remoteLaunchURIStatus \(self.rawValue)"
        }
    }
}
