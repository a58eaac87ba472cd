// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a system runs.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is kept as it is.
public struct RemoteSystemPlatform: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Not known.
    public static let unknown = RemoteSystemPlatform(rawValue: 0)
    /// Windows.
    public static let windows = RemoteSystemPlatform(rawValue: 1)
    /// Android.
    public static let android = RemoteSystemPlatform(rawValue: 2)
    /// iOS.
    public static let iOS = RemoteSystemPlatform(rawValue: 3)
    /// Linux.
    public static let linux = RemoteSystemPlatform(rawValue: 4)
}

extension RemoteSystemPlatform: CustomStringConvertible {
    /// The status's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .unknown: "unknown"
        case .windows: "windows"
        case .android: "android"
        case .iOS: "iOS"
        case .linux: "linux"
        default: "remoteSystemPlatform \(self.rawValue)"
        }
    }
}
