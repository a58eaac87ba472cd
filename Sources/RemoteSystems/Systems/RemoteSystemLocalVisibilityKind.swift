// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whether a watcher tells of the application that runs it.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is kept as it is.
public struct RemoteSystemLocalVisibilityKind: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A kind with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Everything is told, the watching application included.
    public static let showAll = RemoteSystemLocalVisibilityKind(rawValue: 0)
    /// This machine is told only when it runs or has other applications than the watching one.
    public static let hideLocalApp = RemoteSystemLocalVisibilityKind(rawValue: 1)
}

extension RemoteSystemLocalVisibilityKind: CustomStringConvertible {
    /// The kind's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .showAll: "showAll"
        case .hideLocalApp: "hideLocalApp"
        default: "remoteSystemLocalVisibilityKind \(self.rawValue)"
        }
    }
}
