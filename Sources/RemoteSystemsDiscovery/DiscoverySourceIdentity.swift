// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What tells one ``DiscoverySource`` from another: two of equal identity see and announce the same.
public struct DiscoverySourceIdentity: Sendable, Hashable {
    private enum Kind: Hashable, Sendable {
        case object(ObjectIdentifier)
        case text(String)
    }

    private let kind: Kind

    /// The identity of an object. It means something for as long as the object lives.
    public init(_ object: AnyObject) { self.kind = .object(ObjectIdentifier(object)) }

    /// The identity of a value: everything that it is made of, its type's name included.
    public init(_ text: String) { self.kind = .text(text) }
}
