// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The way in which the host daemon starts an application.
package enum ApplicationStart: Sendable, Hashable {
    /// The application is started by D-Bus activation: it owns a well-known name on the session bus.
    case dbus(name: String)
    /// The application is started as a unit of the user's service manager.
    case systemd(unit: String)
    /// The application is started as a program, given by its absolute path and its arguments. No shell is used.
    case exec([String])
    /// The application is started by the desktop entry with this id.
    case desktop(id: String)
}

extension ApplicationStart: Decodable {
    private enum Key: String, CodingKey, CaseIterable {
        case dbus, systemd, exec, desktop
    }

    static let keys = Set(Key.allCases.map(\.stringValue))

    package init(from decoder: any Decoder) throws {
        let container = try decoder.tolerantContainer(keyedBy: Key.self)
        let keys = container.allKeys
        guard keys.count == 1, let key = keys.first else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "'start' takes exactly one of: dbus, systemd, exec, desktop."
                )
            )
        }
        switch key {
        case .dbus:
            let name = try container.text(key, bytes: 3...255)
            guard Self.isBusName(name) else {
                throw container.invalid(key, "is a well-known bus name, such as com.example.Player")
            }
            self = .dbus(name: name)
        case .systemd:
            let unit = try container.text(key, bytes: 9...255)
            guard Self.isUnit(unit) else {
                throw container.invalid(key, "is the name of a service unit, such as player.service")
            }
            self = .systemd(unit: unit)
        case .exec:
            self = .exec(try container.arguments(key))
        case .desktop:
            let id = try container.text(key, bytes: 9...255)
            guard id.hasSuffix(".desktop"), !id.contains("/") else {
                throw container.invalid(key, "is the id of a desktop entry, such as com.example.Player.desktop")
            }
            self = .desktop(id: id)
        }
    }

    /// A well-known name (D-Bus Specification, "Bus names").
    private static func isBusName(_ name: String) -> Bool {
        let elements = name.split(separator: ".", omittingEmptySubsequences: false)
        return elements.count >= 2
            && elements.allSatisfy { element in
                guard let first = element.utf8.first, !(0x30...0x39).contains(first) else { return false }
                return element.utf8.allSatisfy { Self.isLetterOrDigit($0) || $0 == 0x2D || $0 == 0x5F }
            }
    }

    /// Whether a text is the name of a service unit (systemd.unit(5)).
    static func isUnit(_ name: String) -> Bool {
        (9...255).contains(name.utf8.count) && name.hasSuffix(".service") && name.utf8.allSatisfy(Self.isPartOfUnit)
    }

    /// Whether a byte may be part of a unit name (systemd.unit(5)). Excludes slashes.
    private static func isPartOfUnit(_ byte: UInt8) -> Bool {
        Self.isLetterOrDigit(byte) || ":-_.\\@".utf8.contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}

extension KeyedDecodingContainer {
    /// A program by its absolute path, and its arguments.
    func arguments(_ key: Key) throws -> [String] {
        let arguments = try self.decode([String].self, forKey: key)
        guard (1...64).contains(arguments.count), arguments.allSatisfy({ $0.utf8.count <= 4096 }),
            !arguments.contains(where: { $0.utf8.contains(0) })
        else {
            throw self.invalid(key, "takes a program and up to 63 arguments, each at most 4096 bytes")
        }
        guard arguments[0].hasPrefix("/") else {
            throw self.invalid(key, "begins with the absolute path of a program; it is not searched for")
        }
        return arguments
    }
}
