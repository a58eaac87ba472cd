// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whether a watcher reports its own application.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept.
public struct RemoteSystemLocalVisibilityKind: NumberedEnumeration {
    /// The raw value.
    public var rawValue: Int

    /// Creates a kind with a raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Every system and application is reported, including the watching application.
    public static let showAll = RemoteSystemLocalVisibilityKind(rawValue: 0)
    /// This machine is reported only when it has other applications, running or installed, than the watching one.
    public static let hideLocalApp = RemoteSystemLocalVisibilityKind(rawValue: 1)

    static let names = ["showAll", "hideLocalApp"]
}
