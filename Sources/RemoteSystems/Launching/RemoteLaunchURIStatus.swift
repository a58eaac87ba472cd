// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The status of a launch.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept; the error that goes with it
/// states that it is unknown whether something was opened.
public struct RemoteLaunchURIStatus: NumberedEnumeration {
    /// The raw value.
    public var rawValue: Int

    /// Creates a status with a raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// It is unknown whether the URI was opened, or it was not opened for a reason that has no status of its own.
    ///
    /// ``RemoteSystemError/outcome`` of ``RemoteLaunchURIResult/error`` distinguishes the two.
    public static let unknown = RemoteLaunchURIStatus(rawValue: 0)
    /// The URI was opened.
    public static let success = RemoteLaunchURIStatus(rawValue: 1)
    /// The application that was to open the URI is not installed, or cannot open it now.
    public static let appUnavailable = RemoteLaunchURIStatus(rawValue: 2)
    /// No application on the system opens URIs of this scheme.
    public static let protocolUnavailable = RemoteLaunchURIStatus(rawValue: 3)
    /// The system cannot be reached, or has its maximum number of connections. Try again later.
    public static let remoteSystemUnavailable = RemoteLaunchURIStatus(rawValue: 4)
    /// The input data exceeds ``RemoteLauncher/maxInputBytes``, or the other system's limit.
    public static let valueSetTooLarge = RemoteLaunchURIStatus(rawValue: 5)
    /// This system denied the launch: it does not trust the peer.
    public static let deniedByLocalSystem = RemoteLaunchURIStatus(rawValue: 6)
    /// The other system denied the launch, or a user there did.
    public static let deniedByRemoteSystem = RemoteLaunchURIStatus(rawValue: 7)

    static let names = [
        "unknown", "success", "appUnavailable", "protocolUnavailable", "remoteSystemUnavailable", "valueSetTooLarge",
        "deniedByLocalSystem", "deniedByRemoteSystem",
    ]
}

extension RemoteLaunchURIStatus {
    /// Whether it is certain that nothing was opened.
    var saysNothingWasOpened: Bool { self.isKnown && self != .unknown && self != .success }
}
