// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What is announced of a service that can be connected to.
///
/// All of it is readable by everyone on the network. It should hold nothing that tells who or which machine this is: an instance
/// name that is random and made anew from time to time, and properties that only friends can make sense of.
public struct DiscoveryAdvertisement: Sendable, Equatable {
    /// The instance name: 1 to 63 bytes of UTF-8 without control characters, unique on the network (make it random).
    public var instance: String

    /// The TCP port on which the service listens, 1...65535.
    public var port: Int

    /// Key-value pairs of the TXT record (RFC 6763 §6): keys of printable ASCII without `=`, each pair at most 255 bytes, at most
    /// ``DiscoveryLimits/propertyBytes`` bytes in all.
    public var properties: [String: [UInt8]]

    /// An announcement with these values, checked when it is announced.
    public init(instance: String, port: Int, properties: [String: [UInt8]] = [:]) {
        self.instance = instance
        self.port = port
        self.properties = properties
    }

    /// Checks that the announcement can be put on the wire as it is.
    ///
    /// - Throws: ``DiscoveryError`` with the code that names the part that cannot.
    public func validate() throws(DiscoveryError) {
        try Self.validate(instance: instance)
        guard (1...65535).contains(port) else {
            throw DiscoveryError(
                code: .invalidPort,
                message:
                    "port \(port) cannot be announced: a TCP port is 1 to 65535. Announce the port the service listens on."
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
                    "an instance name of \(bytes) bytes cannot be announced: DNS allows 1 to 63. Choose another name."
            )
        }
        guard instance.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw DiscoveryError(
                code: .invalidInstance,
                message: "an instance name with control characters cannot be announced. Choose another name."
            )
        }
    }
}
