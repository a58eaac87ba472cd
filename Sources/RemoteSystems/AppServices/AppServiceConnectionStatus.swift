// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// The result of opening a connection to an app service.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is preserved.
public struct AppServiceConnectionStatus: FramedStatus {
    /// The number.
    public var rawValue: Int

    /// Creates a status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The connection is open.
    public static let success = AppServiceConnectionStatus(rawValue: 0)
    /// The application that the request names is not installed on the system.
    public static let appNotInstalled = AppServiceConnectionStatus(rawValue: 1)
    /// The application cannot accept connections now. Try again later.
    public static let appUnavailable = AppServiceConnectionStatus(rawValue: 2)
    /// The application does not offer the service.
    public static let appServiceUnavailable = AppServiceConnectionStatus(rawValue: 3)
    /// Opening failed for another reason, which ``AppServiceConnection/openError`` explains.
    public static let unknown = AppServiceConnectionStatus(rawValue: 4)
    /// The system cannot be reached, or has its maximum number of connections. Try again later.
    public static let remoteSystemUnavailable = AppServiceConnectionStatus(rawValue: 5)
    /// The application does not offer this service to the calling system or application.
    public static let remoteSystemNotSupportedByApp = AppServiceConnectionStatus(rawValue: 6)
    /// The other system refuses this system, or this system does not trust the other one.
    public static let notAuthorized = AppServiceConnectionStatus(rawValue: 7)

    typealias Wire = OpenStatus

    static let names = [
        "success", "appNotInstalled", "appUnavailable", "appServiceUnavailable", "unknown", "remoteSystemUnavailable",
        "remoteSystemNotSupportedByApp", "notAuthorized",
    ]
}
