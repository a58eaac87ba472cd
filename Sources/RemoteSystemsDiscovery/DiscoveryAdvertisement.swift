// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The advertisement of a service that other systems can connect to.
///
/// Everyone on the network can read an advertisement, so it should not reveal the user or the machine. Use a random
/// instance name that changes from time to time, and properties that only trusted systems can interpret.
public struct DiscoveryAdvertisement: Sendable, Equatable {
    /// The instance name: 1 to 63 bytes of UTF-8 without control characters, unique on the network. Make it random.
    public var instance: String

    /// The TCP port on which the service listens. Valid range: 1–65535.
    public var port: Int

    /// Key-value pairs of the TXT record (RFC 6763 §6).
    ///
    /// Keys are printable ASCII without `=`. Each pair has at most 255 bytes, all pairs together at most
    /// ``DiscoveryLimits/propertyBytes``.
    public var properties: [String: [UInt8]]

    /// Creates an advertisement. ``validate()`` checks the values.
    ///
    /// - Parameters:
    ///   - instance: The instance name: 1–63 bytes of UTF-8 without control characters, unique on the network.
    ///   - port: The TCP port on which the service listens. Valid range: 1–65535.
    ///   - properties: Key-value pairs of the TXT record. Defaults to none.
    public init(instance: String, port: Int, properties: [String: [UInt8]] = [:]) {
        self.instance = instance
        self.port = port
        self.properties = properties
    }

    /// Checks that the advertisement can be encoded.
    ///
    /// - Throws: ``DiscoveryError`` with ``DiscoveryError/Code/invalidInstance``, ``DiscoveryError/Code/invalidPort``,
    ///   ``DiscoveryError/Code/invalidProperty`` or ``DiscoveryError/Code/propertiesTooLarge``.
    public func validate() throws(DiscoveryError) {
        try Self.validate(instance: instance)
        guard (1...65535).contains(port) else {
            throw DiscoveryError(
                code: .invalidPort,
                message: "Port \(port) cannot be advertised: a TCP port is 1 to 65535. "
                    + "Advertise the port on which the service listens."
            )
        }
        try TXTRecord.validate(properties)
    }

    private static func validate(instance: String) throws(DiscoveryError) {
        let bytes = instance.utf8.count
        guard (1...63).contains(bytes) else {
            throw DiscoveryError(
                code: .invalidInstance,
                message:
                    "An instance name of \(bytes) bytes cannot be advertised: DNS allows 1 to 63. Choose another name."
            )
        }
        guard instance.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw DiscoveryError(
                code: .invalidInstance,
                message: "An instance name with control characters cannot be advertised. Choose another name."
            )
        }
    }
}
