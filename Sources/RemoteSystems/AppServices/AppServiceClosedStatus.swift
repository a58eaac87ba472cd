// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// The reason why a connection to an app service ended.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is preserved.
public struct AppServiceClosedStatus: FramedStatus {
    /// The status's number, as on the wire.
    public var rawValue: Int

    /// Creates a status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// One side closed the connection after all requests were finished.
    public static let completed = AppServiceClosedStatus(rawValue: 0)
    /// One side aborted the connection while requests were in progress.
    public static let cancelled = AppServiceClosedStatus(rawValue: 1)
    /// One side exceeded the agreed limits.
    public static let resourceLimitsExceeded = AppServiceClosedStatus(rawValue: 2)
    /// The connection was lost, or one side violated the protocol.
    public static let unknown = AppServiceClosedStatus(rawValue: 3)

    typealias Wire = CloseStatus

    static let names = ["completed", "cancelled", "resourceLimitsExceeded", "unknown"]
}
