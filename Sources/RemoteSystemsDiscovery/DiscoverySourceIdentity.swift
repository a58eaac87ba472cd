// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The identity of a ``DiscoverySource``. Two sources of equal identity find and advertise the same systems.
public struct DiscoverySourceIdentity: Sendable, Hashable {
    private enum Kind: Hashable, Sendable {
        case object(ObjectIdentifier)
        case text(String)
    }

    private let kind: Kind

    /// Creates the identity of an object.
    ///
    /// - Parameter object: The object. The identity is valid while it lives, and does not retain it.
    public init(_ object: AnyObject) { self.kind = .object(ObjectIdentifier(object)) }

    /// Creates the identity of a value.
    ///
    /// - Parameter text: A text that contains everything that distinguishes the value, and the name of its type.
    public init(_ text: String) { self.kind = .text(text) }
}
