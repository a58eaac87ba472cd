// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The settings in avahi-daemon.conf(5) that limit what the daemon browses and publishes for us.
package struct AvahiDaemonSettings: Sendable, Hashable {
    package var usesIPv4 = true
    package var usesIPv6 = true
    /// The only interfaces that the daemon uses; nil for all.
    package var allowedInterfaces: [String]?
    package var deniedInterfaces: [String] = []
    package var publishes = true
    package var publishesForUsers = true
    /// The maximum number of records in the daemon's cache for each interface and protocol.
    package var cacheEntries = 4096
    /// The maximum number of records in one advertisement.
    package var entriesPerGroup = 32

    /// The path of the file on Debian and most other distributions.
    package static let path = "/etc/avahi/avahi-daemon.conf"

    /// The daemon's defaults.
    package init() {}

    /// Parses the text of the file. A setting that is not in it has the daemon's default.
    package init(_ text: String) {
        self.init()
        var section = ""
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop(while: \.isWhitespace)
            guard let first = line.first, first != "#", first != ";" else { continue }
            if first == "[" {
                section = String(line.dropFirst().prefix { $0 != "]" })
                continue
            }
            guard let equals = line.firstIndex(of: "=") else { continue }
            let key = line[..<equals].filter { !$0.isWhitespace }
            let value = line[line.index(after: equals)...].filter { !$0.isWhitespace }
            self.set("\(section)/\(key)", value)
        }
    }

    private mutating func set(_ key: String, _ value: String) {
        let names = value.split(separator: ",").map(String.init)
        // The values that the daemon accepts as true.
        let isYes = ["yes", "true", "1", "on"].contains(value.lowercased())
        switch key {
        case "server/use-ipv4": self.usesIPv4 = isYes
        case "server/use-ipv6": self.usesIPv6 = isYes
        case "server/allow-interfaces": self.allowedInterfaces = names.isEmpty ? nil : names
        case "server/deny-interfaces": self.deniedInterfaces = names
        case "server/cache-entries-max": self.cacheEntries = Int(value) ?? self.cacheEntries
        case "server/entries-per-entry-group-max": self.entriesPerGroup = Int(value) ?? self.entriesPerGroup
        case "publish/disable-publishing": self.publishes = !isYes
        case "publish/disable-user-service-publishing": self.publishesForUsers = !isYes
        default: break
        }
    }

    /// Reads the file. Returns nil if it is missing, unreadable or larger than 1 MiB.
    package static func read(path: String = Self.path) -> AvahiDaemonSettings? {
        SystemFile.text(of: path, limit: 1 << 20).map { AvahiDaemonSettings($0) }
    }

    var families: Set<ServiceInstance.Family> { Set((usesIPv4 ? [.ipv4] : []) + (usesIPv6 ? [.ipv6] : [])) }

    package func uses(_ interface: String) -> Bool {
        !self.deniedInterfaces.contains(interface) && self.allowedInterfaces?.contains(interface) != false
    }
}
