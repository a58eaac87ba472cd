// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How a message that was sent without a connection ended.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is kept as it is.
public struct StatelessAppServiceResponseStatus: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The service answered.
    public static let success = StatelessAppServiceResponseStatus(rawValue: 0)
    /// The system has no such application.
    public static let appNotInstalled = StatelessAppServiceResponseStatus(rawValue: 1)
    /// The application cannot take messages now; try again later.
    public static let appUnavailable = StatelessAppServiceResponseStatus(rawValue: 2)
    /// The application offers no such service.
    public static let appServiceUnavailable = StatelessAppServiceResponseStatus(rawValue: 3)
    /// The system cannot be reached.
    public static let remoteSystemUnavailable = StatelessAppServiceResponseStatus(rawValue: 4)
    /// The application does not offer this service to callers like this one.
    public static let remoteSystemNotSupportedByApp = StatelessAppServiceResponseStatus(rawValue: 5)
    /// The system does not let us in, or is not one we trust.
    public static let notAuthorized = StatelessAppServiceResponseStatus(rawValue: 6)
    /// The other side is out of room for requests.
    public static let resourceLimitsExceeded = StatelessAppServiceResponseStatus(rawValue: 7)
    /// The message or its answer is larger than the receiver takes.
    public static let messageTooLarge = StatelessAppServiceResponseStatus(rawValue: 8)
    /// The service got the message and could not do what it asks for.
    public static let failure = StatelessAppServiceResponseStatus(rawValue: 9)
    /// It failed for another reason, or no answer came: the error that goes with it says which, and whether the message may
    /// have been acted on.
    public static let unknown = StatelessAppServiceResponseStatus(rawValue: 10)

    /// A connection that could not be opened. `nil` if it was.
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

    /// A request that was sent, or could not be.
    package init(_ status: AppServiceResponseStatus) {
        switch status {
        case .success: self = .success
        case .failure: self = .failure
        case .resourceLimitsExceeded: self = .resourceLimitsExceeded
        case .remoteSystemUnavailable: self = .remoteSystemUnavailable
        case .messageTooLarge: self = .messageTooLarge
        // The application closed it before the message could leave.
        case .connectionClosed: self = .appUnavailable
        default: self = .unknown
        }
    }
}

extension StatelessAppServiceResponseStatus: CustomStringConvertible {
    /// The status's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .success: "success"
        case .appNotInstalled: "appNotInstalled"
        case .appUnavailable: "appUnavailable"
        case .appServiceUnavailable: "appServiceUnavailable"
        case .remoteSystemUnavailable: "remoteSystemUnavailable"
        case .remoteSystemNotSupportedByApp: "remoteSystemNotSupportedByApp"
        case .notAuthorized: "notAuthorized"
        case .resourceLimitsExceeded: "resourceLimitsExceeded"
        case .messageTooLarge: "messageTooLarge"
        case .failure: "failure"
        case .unknown: "unknown"
        default: "statelessAppServiceResponseStatus \(self.rawValue)"
        }
    }
}
