// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RemoteSystemsDiscovery

/// The properties of this machine, read from Linux's own files.
package struct MachineFacts: Sendable, Hashable {
    var displayName: String
    var kind: RemoteSystemKind
    var manufacturer: String?
    var model: String?

    package init(displayName: String, kind: RemoteSystemKind, manufacturer: String? = nil, model: String? = nil) {
        self.displayName = displayName
        self.kind = kind
        self.manufacturer = manufacturer
        self.model = model
    }

    /// Reads the properties. An unreadable property is left out, so that it never prevents a service from starting.
    static func read(root: String = "/") -> MachineFacts {
        let info = Self.machineInfo(Self.contents(root + "etc/machine-info") ?? "")
        let dmi = root + "sys/class/dmi/id/"
        return MachineFacts(
            displayName: info["PRETTY_HOSTNAME"] ?? Self.hostName(),
            kind: info["CHASSIS"].flatMap(Self.kind(chassis:))
                ?? Self.contents(dmi + "chassis_type").flatMap { Int($0) }.map(Self.kind(chassisType:)) ?? .unknown,
            manufacturer: Self.contents(dmi + "sys_vendor"),
            model: Self.contents(dmi + "product_name")
        )
    }

    /// Parses the `KEY=value` lines of machine-info(5), and removes quotes.
    static func machineInfo(_ text: String) -> [String: String] {
        var found: [String: String] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            let value = line[line.index(after: equals)...].trimmed { $0 == "\"" || $0 == "'" || $0 == " " }
            if !value.isEmpty { found[String(line[..<equals])] = value }
        }
        return found
    }

    /// Maps the chassis names of machine-info(5).
    static func kind(chassis: String) -> RemoteSystemKind? {
        switch chassis {
        case "desktop": .desktop
        case "laptop", "convertible": .laptop
        case "tablet": .tablet
        case "handset", "watch": .phone
        case "server": .server
        case "embedded": .iot
        case "vm", "container": .virtual
        default: nil
        }
    }

    /// Maps the chassis types of the SMBIOS specification, table 17.
    static func kind(chassisType: Int) -> RemoteSystemKind {
        switch chassisType {
        case 3, 4, 5, 6, 7, 13, 15, 16, 24: .desktop
        case 8, 9, 10, 14, 31, 32: .laptop
        case 11: .phone
        case 30: .tablet
        case 17, 23, 25, 28, 29: .server
        case 33, 34, 35, 36: .iot
        case 1: .virtual
        default: .unknown
        }
    }

    private static func hostName() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "Linux" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func contents(_ path: String) -> String? {
        guard let bytes = SystemFile.bytes(of: path) else { return nil }
        let text = String(decoding: bytes.prefix(4096), as: UTF8.self).trimmed(where: \.isWhitespace)
        return text.isEmpty ? nil : text
    }
}

extension StringProtocol {
    fileprivate func trimmed(where isUnwanted: (Character) -> Bool) -> String {
        let start = self.drop(while: isUnwanted)
        guard let end = start.lastIndex(where: { !isUnwanted($0) }) else { return "" }
        return String(start[...end])
    }
}
