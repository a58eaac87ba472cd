// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The identity of a ``DiscoverySource``. Two sources of equal identity find and advertise the same systems.
public struct DiscoverySourceIdentity: Sendable, Hashable {
    private enum Kind: Hashable, Sendable {
        case object(ObjectIdentifier)
        case text(String)
    }

    private let kind: Kind

    /// Creates the identity of an object. It is valid while the object lives.
    public init(_ object: AnyObject) { self.kind = .object(ObjectIdentifier(object)) }

    /// Creates the identity of a value. The text must contain everything that distinguishes the value, and the name of
    /// its type.
    public init(_ text: String) { self.kind = .text(text) }
}
