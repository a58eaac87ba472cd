// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Why a connection to an app service ended.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is kept as it is.
public struct AppServiceClosedStatus: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// One side closed it after everything was answered.
    public static let completed = AppServiceClosedStatus(rawValue: 0)
    /// One side gave it up while requests were under way.
    public static let cancelled = AppServiceClosedStatus(rawValue: 1)
    /// One side sent more than was agreed.
    public static let resourceLimitsExceeded = AppServiceClosedStatus(rawValue: 2)
    /// It was lost, or the protocol was broken.
    public static let unknown = AppServiceClosedStatus(rawValue: 3)
}

extension AppServiceClosedStatus: CustomStringConvertible {
    /// The status's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .completed: "completed"
        case .cancelled: "cancelled"
        case .resourceLimitsExceeded: "resourceLimitsExceeded"
        case .unknown: "unknown"
        default: "appServiceClosedStatus \(self.rawValue)"
        }
    }
}
