// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How a message that was sent without a lasting connection ended.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is preserved.
public struct StatelessAppServiceResponseStatus: NumberedEnumeration {
    /// The number.
    public var rawValue: Int

    /// Creates a status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The service responded.
    public static let success = StatelessAppServiceResponseStatus(rawValue: 0)
    /// The application that the request names is not installed on the system.
    public static let appNotInstalled = StatelessAppServiceResponseStatus(rawValue: 1)
    /// The application cannot accept messages now. Try again later.
    public static let appUnavailable = StatelessAppServiceResponseStatus(rawValue: 2)
    /// The application does not offer the service.
    public static let appServiceUnavailable = StatelessAppServiceResponseStatus(rawValue: 3)
    /// The system cannot be reached, or has its maximum number of connections. Try again later.
    public static let remoteSystemUnavailable = StatelessAppServiceResponseStatus(rawValue: 4)
    /// The application does not offer this service to the calling system or application.
    public static let remoteSystemNotSupportedByApp = StatelessAppServiceResponseStatus(rawValue: 5)
    /// The other system refuses this system, or this system does not trust the other one.
    public static let notAuthorized = StatelessAppServiceResponseStatus(rawValue: 6)
    /// The peer has no capacity for the request.
    public static let resourceLimitsExceeded = StatelessAppServiceResponseStatus(rawValue: 7)
    /// The message or its response is larger than the receiver accepts.
    public static let messageTooLarge = StatelessAppServiceResponseStatus(rawValue: 8)
    /// The service received the message and could not execute the request.
    public static let failure = StatelessAppServiceResponseStatus(rawValue: 9)
    /// The request failed for another reason, or no response arrived. The error explains it and states whether the
    /// request may have been executed.
    public static let unknown = StatelessAppServiceResponseStatus(rawValue: 10)

    static let names = [
        "success", "appNotInstalled", "appUnavailable", "appServiceUnavailable", "remoteSystemUnavailable",
        "remoteSystemNotSupportedByApp", "notAuthorized", "resourceLimitsExceeded", "messageTooLarge", "failure",
        "unknown",
    ]

    /// Creates the status of a connection that could not be opened; `nil` for success.
    init?(_ status: AppServiceConnectionStatus) {
        switch status {
        case .success: return nil
        case .appNotInstalled: self = .appNotInstalled
        case .appUnavailable: self = .appUnavailable
        case .appServiceUnavailable: self = .appServiceUnavailable
        case .remoteSystemUnavailable: self = .remoteSystemUnavailable
        case .remoteSystemNotSupportedByApp: self = .remoteSystemNotSupportedByApp
        case .notAuthorized: self = .notAuthorized
        default: self = .unknown
        }
    }

    /// Creates the status of a request over an open connection.
    package init(_ status: AppServiceResponseStatus) {
        switch status {
        case .success: self = .success
        case .failure: self = .failure
        case .resourceLimitsExceeded: self = .resourceLimitsExceeded
        case .remoteSystemUnavailable: self = .remoteSystemUnavailable
        case .messageTooLarge: self = .messageTooLarge
        // The application closed the connection before the message was sent.
        case .connectionClosed: self = .appUnavailable
        default: self = .unknown
        }
    }
}
