// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A kind of machine, for display. What a system can do follows from its applications (``RemoteSystem/supports(_:)``).
public struct RemoteSystemKind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The kind's name. An unknown name is kept.
    public var rawValue: String

    /// Creates a kind with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name of the kind, as in ``rawValue``.
    public var description: String { self.rawValue }

    /// The system is a desktop computer.
    public static let desktop = RemoteSystemKind(rawValue: "desktop")
    /// The system is a laptop.
    public static let laptop = RemoteSystemKind(rawValue: "laptop")
    /// The system is a tablet.
    public static let tablet = RemoteSystemKind(rawValue: "tablet")
    /// The system is a phone.
    public static let phone = RemoteSystemKind(rawValue: "phone")
    /// The system is a collaboration screen.
    public static let hub = RemoteSystemKind(rawValue: "hub")
    /// The system is a head-mounted display.
    public static let holographic = RemoteSystemKind(rawValue: "holographic")
    /// The system is a games console, which Project Rome calls `xbox`.
    public static let xbox = RemoteSystemKind(rawValue: "xbox")
    /// The system is a small or embedded device.
    public static let iot = RemoteSystemKind(rawValue: "iot")
    /// The system is a server. Not one of Project Rome's kinds.
    public static let server = RemoteSystemKind(rawValue: "server")
    /// The system is a virtual machine or a container. Not one of Project Rome's kinds.
    public static let virtual = RemoteSystemKind(rawValue: "virtual")
    /// The kind of the system is not known.
    public static let unknown = RemoteSystemKind(rawValue: "unknown")
}
