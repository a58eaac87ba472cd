// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The operating system of a system.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept.
public struct RemoteSystemPlatform: NumberedEnumeration {
    /// The raw value.
    public var rawValue: Int

    /// Creates a platform with a raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// An unknown operating system.
    public static let unknown = RemoteSystemPlatform(rawValue: 0)
    /// Windows.
    public static let windows = RemoteSystemPlatform(rawValue: 1)
    /// Android.
    public static let android = RemoteSystemPlatform(rawValue: 2)
    /// iOS.
    public static let iOS = RemoteSystemPlatform(rawValue: 3)
    /// Linux.
    public static let linux = RemoteSystemPlatform(rawValue: 4)

    static let names = ["unknown", "windows", "android", "iOS", "linux"]
}
