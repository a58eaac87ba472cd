// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The relation between a system's account and this system's account.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept.
public struct RemoteSystemAuthorizationKind: NumberedEnumeration {
    /// The number of the kind, as Project Rome defines it. Unknown numbers are kept.
    public var rawValue: Int

    /// Creates a kind with a number, which may be unknown to this version.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A system of the same account.
    public static let sameUser = RemoteSystemAuthorizationKind(rawValue: 0)
    /// A system of another account on the same network. Listed only by watchers with the filter
    /// ``RemoteSystemFilter/authorizationKind(_:)``, and only where its owner allows it
    /// (``RemoteSystemHost/Options/allowsAnyoneNearby``).
    public static let anonymous = RemoteSystemAuthorizationKind(rawValue: 1)
    /// A system of a linked account. Listed only by watchers with the filter
    /// ``RemoteSystemFilter/authorizationKind(_:)``. It can be called as far as its account grants it.
    public static let linked = RemoteSystemAuthorizationKind(rawValue: 2)

    static let names = ["sameUser", "anonymous", "linked"]

    init(_ standing: Standing.Kind) {
        self =
            switch standing {
            case .sameAccount: .sameUser
            case .linked: .linked
            case .anonymous: .anonymous
            }
    }
}
