// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension DiscoveryEndpoint {
    /// Whether the endpoint can belong to a machine on the same link: its address is within a network of the interface
    /// on which it was seen, or of any interface if that is not known. A loopback address must have been seen on a
    /// loopback interface.
    ///
    /// `true` for transports other than IP, whose addresses only they interpret.
    package var isOnLink: Bool {
        guard self.transport == "ip" else { return true }
        guard let (bytes, zone) = NetworkAddress.bytes(of: self.address) else { return false }
        let isIPv4 = bytes.count == 4
        // Unspecified, multicast and broadcast addresses.
        guard bytes.contains(where: { $0 != 0 }), isIPv4 ? bytes[0] < 224 : bytes[0] != 0xFF else { return false }
        if isIPv4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1] {
            guard let interface = self.interface else { return true }
            return NetworkInterface.all().contains { $0.name == interface.name && $0.isLoopback }
        }
        if !isIPv4, bytes[0] == 0xFE, bytes[1] & 0xC0 == 0x80 {
            return zone != nil && (self.interface == nil || self.interface?.name == zone)
        }
        return LocalNetworks.contains(self.address, on: self.interface?.name) ?? false
    }
}
