// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A kind of machine, for display. What a system can do follows from its applications (``RemoteSystem/supports(_:)``).
public struct RemoteSystemKind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The kind's name. An unknown name is kept.
    public var rawValue: String

    /// Creates a kind with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The kind's name.
    public var description: String { self.rawValue }

    /// A desktop computer.
    public static let desktop = RemoteSystemKind(rawValue: "desktop")
    /// A laptop.
    public static let laptop = RemoteSystemKind(rawValue: "laptop")
    /// A tablet.
    public static let tablet = RemoteSystemKind(rawValue: "tablet")
    /// A phone.
    public static let phone = RemoteSystemKind(rawValue: "phone")
    /// A collaboration screen.
    public static let hub = RemoteSystemKind(rawValue: "hub")
    /// A head-mounted display.
    public static let holographic = RemoteSystemKind(rawValue: "holographic")
    /// A games console (Project Rome's name for it).
    public static let xbox = RemoteSystemKind(rawValue: "xbox")
    /// A small or embedded device.
    public static let iot = RemoteSystemKind(rawValue: "iot")
    /// A server. Not one of Project Rome's kinds.
    public static let server = RemoteSystemKind(rawValue: "server")
    /// A virtual machine or a container. Not one of Project Rome's kinds.
    public static let virtual = RemoteSystemKind(rawValue: "virtual")
    /// An unknown kind.
    public static let unknown = RemoteSystemKind(rawValue: "unknown")
}
