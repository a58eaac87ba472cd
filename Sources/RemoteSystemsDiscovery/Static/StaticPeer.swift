// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A system at a known place: a host name or address, and a port.
public struct StaticPeer: Sendable, Hashable {
    /// A DNS name, or an address without brackets.
    public let host: String
    /// The TCP port. Valid range: 1–65535.
    public let port: Int

    /// Whether the host is an address, which needs no name server.
    var isAddress: Bool { host.contains(":") || host.utf8.allSatisfy("0123456789.".utf8.contains) }

    /// Creates a peer at this host and port.
    ///
    /// - Parameters:
    ///   - host: A DNS name, or an address without brackets. Valid length: 1–253 bytes.
    ///   - port: The TCP port. Valid range: 1–65535.
    /// - Throws: ``DiscoveryError`` with ``DiscoveryError/Code/invalidPeer`` if the host is empty, longer than 253
    ///   bytes or has characters that no name or address has, or if the port is out of range.
    public init(host: String, port: Int) throws(DiscoveryError) {
        guard (1...253).contains(host.utf8.count), host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !host.contains(where: { "[]/@".contains($0) })
        else {
            throw DiscoveryError(
                code: .invalidPeer,
                message:
                    "The host of a static peer must be a DNS name or an address. Write host:port or [address]:port."
            )
        }
        guard (1...65535).contains(port) else {
            throw DiscoveryError(
                code: .invalidPeer,
                message: "The port of a static peer must be 1 to 65535. Write host:port or [address]:port."
            )
        }
        self.host = host
        self.port = port
    }

    /// Creates a peer from a text such as `host:port`, `10.0.0.1:port` or `[fe80::1%eth0]:port`.
    ///
    /// - Parameter text: The host, a colon and the port.
    /// - Throws: ``DiscoveryError`` with ``DiscoveryError/Code/invalidPeer`` if the text has another form.
    public init(_ text: String) throws(DiscoveryError) {
        let malformed = DiscoveryError(
            code: .invalidPeer,
            message: "A static peer must be written as host:port or [address]:port."
        )
        guard let separator = text.lastIndex(of: ":"), let port = Int(text[text.index(after: separator)...]) else {
            throw malformed
        }
        var host = text[..<separator]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw malformed
        }
        try self.init(host: String(host), port: port)
    }
}

extension StaticPeer: CustomStringConvertible {
    /// The text that ``init(_:)`` parses.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
