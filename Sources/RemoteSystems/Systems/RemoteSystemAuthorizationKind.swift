// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// Whose system it is.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is kept as it is.
public struct RemoteSystemAuthorizationKind: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A system of the same account.
    public static let sameUser = RemoteSystemAuthorizationKind(rawValue: 0)
    /// Somebody else's, nearby. Listed only by watchers that ask for such systems with
    /// ``RemoteSystemFilter/authorizationKind(_:)``, and only where its owner allows it
    /// (``RemoteSystemHost/Options/allowsAnyoneNearby``).
    public static let anonymous = RemoteSystemAuthorizationKind(rawValue: 1)
    /// A system of a linked account. Accounts cannot be linked yet.
    package static let linked = RemoteSystemAuthorizationKind(rawValue: 2)

    init(_ standing: Standing.Kind) {
        self =
            switch standing {
            case .sameAccount: .sameUser
            case .linked: .linked
            case .anonymous: .anonymous
            }
    }
}

extension RemoteSystemAuthorizationKind: CustomStringConvertible {
    /// The status's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .sameUser: "sameUser"
        case .anonymous: "anonymous"
        case .linked: "linked"
        default: "remoteSystemAuthorizationKind \(self.rawValue)"
        }
    }
}
