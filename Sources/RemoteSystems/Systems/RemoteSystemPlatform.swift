// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The operating system of a system.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept.
public struct RemoteSystemPlatform: NumberedEnumeration {
    /// The number of the platform, as Project Rome defines it. Unknown numbers are kept.
    public var rawValue: Int

    /// Creates a platform with a number, which may be unknown to this version.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The operating system of the system is not known.
    public static let unknown = RemoteSystemPlatform(rawValue: 0)
    /// The system runs Windows.
    public static let windows = RemoteSystemPlatform(rawValue: 1)
    /// The system runs Android.
    public static let android = RemoteSystemPlatform(rawValue: 2)
    /// The system runs iOS.
    public static let iOS = RemoteSystemPlatform(rawValue: 3)
    /// The system runs Linux.
    public static let linux = RemoteSystemPlatform(rawValue: 4)

    static let names = ["unknown", "windows", "android", "iOS", "linux"]
}
