// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whether a system can be talked to.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is kept as it is.
public struct RemoteSystemStatus: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// It cannot be reached.
    public static let unavailable = RemoteSystemStatus(rawValue: 0)
    /// It is being found out.
    public static let discoveringAvailability = RemoteSystemStatus(rawValue: 1)
    /// It is connected and answers.
    public static let available = RemoteSystemStatus(rawValue: 2)
    /// Nothing is known.
    public static let unknown = RemoteSystemStatus(rawValue: 3)
}

extension RemoteSystemStatus: CustomStringConvertible {
    /// The status's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .unavailable: "unavailable"
        case .discoveringAvailability: "discoveringAvailability"
        case .available: "available"
        case .unknown: "unknown"
        default: "remoteSystemStatus \(self.rawValue)"
        }
    }
}
