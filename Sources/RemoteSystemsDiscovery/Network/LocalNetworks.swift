// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The networks that this machine is directly connected to.
package enum LocalNetworks {
    /// Whether an address is this machine's own or on a network of one of its interfaces, so that no router is between.
    /// Nil if the text is not an address.
    ///
    /// - Parameter interface: the name of the only interface to consider. Defaults to `nil`: all interfaces.
    package static func contains(_ address: String, on interface: String? = nil) -> Bool? {
        var text = Substring(address.lowercased())
        if text.hasPrefix("::ffff:"), text.contains(".") { text = text.dropFirst(7) }
        if let zone = text.firstIndex(of: "%") { text = text[..<zone] }
        guard let wanted = Self.bytes(String(text)) else { return nil }
        if wanted.count == 16, wanted[0] == 0xFE, wanted[1] & 0xC0 == 0x80 { return true }
        var isFound = false
        let isRead = unsafe NetworkInterface.forEachAddress { entry, _ in
            guard interface == nil || interface == (unsafe String(cString: entry.ifa_name)),
                let own = unsafe entry.ifa_addr, let mask = unsafe entry.ifa_netmask,
                let own = unsafe NetworkAddress(UnsafePointer(own))?.bytes,
                let mask = unsafe NetworkAddress(UnsafePointer(mask))?.bytes, own.count == wanted.count,
                mask.count == wanted.count
            else { return }
            if zip(zip(own, wanted), mask).allSatisfy({ ($0.0 ^ $0.1) & $1 == 0 }) { isFound = true }
        }
        return isRead ? isFound : nil
    }

    /// The bytes of an address in text form; nil if it is not an address.
    static func bytes(_ text: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
