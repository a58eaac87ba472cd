// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension NetworkAddress {
    /// Whether the address is one of the public internet: a unicast address outside the special ranges of the IANA
    /// registries (RFC 6890), and of no network behind a translator or a tunnel that such a range contains.
    var isPublic: Bool {
        switch self {
        case .ipv4(let bytes): Self.isPublic(ipv4: bytes[...])
        case .ipv6(let bytes): Self.isPublic(ipv6: bytes)
        }
    }

    private static func isPublic(ipv4 bytes: ArraySlice<UInt8>) -> Bool {
        let (first, second) = (bytes[bytes.startIndex], bytes[bytes.startIndex + 1])
        switch (first, second, bytes[bytes.startIndex + 2]) {
        case (0, _, _), (10, _, _), (127, _, _), (224..., _, _): return false
        case (100, 64...127, _), (169, 254, _), (172, 16...31, _), (192, 168, _), (198, 18...19, _): return false
        case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113): return false
        default: return true
        }
    }

    private static func isPublic(ipv6 bytes: [UInt8]) -> Bool {
        // A translator's address (64:ff9b::/96, RFC 6052) leads to the IPv4 address in its last four bytes.
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) {
            return Self.isPublic(ipv4: bytes[12...])
        }
        // Only 2000::/3 is assigned for public unicast.
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        // 2001::/23 has protocol assignments such as Teredo, 2001:db8::/32 and 3fff::/20 are for documentation, and
        // 2002::/16 is 6to4.
        if bytes.starts(with: [0x20, 0x01]) {
            return bytes[2] > 0x01 && !bytes[2...].starts(with: [0x0D, 0xB8])
        }
        return !bytes.starts(with: [0x20, 0x02]) && !(bytes[0] == 0x3F && bytes[1] == 0xFF && bytes[2] & 0xF0 == 0)
    }
}
