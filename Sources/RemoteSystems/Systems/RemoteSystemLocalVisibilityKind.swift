// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whether a watcher reports its own application.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept.
public struct RemoteSystemLocalVisibilityKind: NumberedEnumeration {
    /// The number of the kind, as Project Rome defines it. Unknown numbers are kept.
    public var rawValue: Int

    /// Creates a kind with a number, which may be unknown to this version.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Every system and application is reported, including the watching application.
    public static let showAll = RemoteSystemLocalVisibilityKind(rawValue: 0)
    /// This machine is reported only when it has applications, running or installed, besides the watching one.
    public static let hideLocalApp = RemoteSystemLocalVisibilityKind(rawValue: 1)

    static let names = ["showAll", "hideLocalApp"]
}
