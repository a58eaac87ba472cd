// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whether a system can be connected to.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept.
public struct RemoteSystemStatus: NumberedEnumeration {
    /// The raw value.
    public var rawValue: Int

    /// Creates a status with a raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The system cannot be reached.
    public static let unavailable = RemoteSystemStatus(rawValue: 0)
    /// Whether the system can be reached is being determined.
    public static let discoveringAvailability = RemoteSystemStatus(rawValue: 1)
    /// The system is connected and responds.
    public static let available = RemoteSystemStatus(rawValue: 2)
    /// The status is not known.
    public static let unknown = RemoteSystemStatus(rawValue: 3)

    static let names = ["unavailable", "discoveringAvailability", "available", "unknown"]
}
