// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsDiscovery

/// The programs on this machine that use the UDP port of mDNS, 5353 (RFC 6762, section 5).
struct MulticastSockets: Sendable, Hashable {
    /// The programs' names, each once; `user N` for a program that this user may not inspect.
    var owners: [String]

    /// Reads the programs from `/proc`. Sockets of this process are ignored.
    static func current() -> MulticastSockets {
        let tables = ["/proc/net/udp", "/proc/net/udp6"].map { SystemFile.text(of: $0) ?? "" }
        let sockets = tables.flatMap(Self.sockets(in:))
        guard !sockets.isEmpty else { return MulticastSockets(owners: []) }
        let names = Self.programs(holding: Set(sockets.map(\.inode)))
        let own = ProcessInfo.processInfo.processIdentifier
        let owners = sockets.compactMap { socket -> String? in
            guard let program = names[socket.inode] else { return "user \(socket.user)" }
            return program.id == own ? nil : program.name
        }
        return MulticastSockets(owners: Set(owners).sorted())
    }

    struct Socket: Hashable {
        var user: UInt32
        var inode: UInt64
    }

    /// Returns the sockets at port 5353 in a table of proc(5):
    /// `sl local_address rem_address st … uid timeout inode …`.
    static func sockets(in table: String) -> [Socket] {
        table.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count > 9, fields[1].hasSuffix(":14E9"), let user = UInt32(fields[7]),
                let inode = UInt64(fields[9]), inode != 0
            else { return nil }
            return Socket(user: user, inode: inode)
        }
    }

    private static func programs(holding inodes: Set<UInt64>) -> [UInt64: (id: Int32, name: String)] {
        let files = FileManager.default
        var found: [UInt64: (id: Int32, name: String)] = [:]
        for entry in (try? files.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let id = Int32(entry) else { continue }
            // Fails for programs of other users; their sockets are reported by user number.
            for descriptor in (try? files.contentsOfDirectory(atPath: "/proc/\(id)/fd")) ?? [] {
                guard
                    let target = try? files.destinationOfSymbolicLink(atPath: "/proc/\(id)/fd/\(descriptor)"),
                    target.hasPrefix("socket:["), let inode = UInt64(target.dropFirst(8).dropLast()),
                    inodes.contains(inode)
                else { continue }
                let name = SystemFile.text(of: "/proc/\(id)/comm") ?? "process \(id)"
                found[inode] = (id, String(name.prefix { $0 != "\n" }))
            }
        }
        return found
    }
}
