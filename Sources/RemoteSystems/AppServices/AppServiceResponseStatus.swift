// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// How a request to an app service ended.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is preserved.
public struct AppServiceResponseStatus: FramedStatus {
    /// The number.
    public var rawValue: Int

    /// Creates a status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The service responded.
    public static let success = AppServiceResponseStatus(rawValue: 0)
    /// The service received the request and could not execute it.
    public static let failure = AppServiceResponseStatus(rawValue: 1)
    /// The peer has no capacity for the request.
    public static let resourceLimitsExceeded = AppServiceResponseStatus(rawValue: 2)
    /// No response arrived: it is unknown whether the request was executed.
    public static let unknown = AppServiceResponseStatus(rawValue: 3)
    /// The system cannot be reached, or the service reported that another system that it needs is unavailable.
    public static let remoteSystemUnavailable = AppServiceResponseStatus(rawValue: 4)
    /// The message or its response is larger than the receiver accepts.
    public static let messageTooLarge = AppServiceResponseStatus(rawValue: 5)
    /// The connection was closed before the request was sent.
    public static let connectionClosed = AppServiceResponseStatus(rawValue: 6)

    typealias Wire = ResponseStatus

    static let names = [
        "success", "failure", "resourceLimitsExceeded", "unknown", "remoteSystemUnavailable", "messageTooLarge",
        "connectionClosed",
    ]
}
