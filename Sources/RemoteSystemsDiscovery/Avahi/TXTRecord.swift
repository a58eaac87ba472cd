// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The key-value pairs of a DNS-SD TXT record (RFC 6763 §6).
enum TXTRecord {
    /// Checks that properties can be written as a TXT record of the allowed size.
    static func validate(_ properties: [String: [UInt8]]) throws(DiscoveryError) {
        var keys: Set<String> = []
        var size = 0
        for (key, value) in properties {
            let bytes = key.utf8.count + 1 + value.count
            guard isKey(key.utf8), keys.insert(key.lowercasedASCII).inserted else {
                throw DiscoveryError(
                    code: .invalidProperty,
                    message: """
                        A property key cannot be advertised: it must be printable ASCII without "=", not empty, and \
                        differ from the other keys in more than case. Choose another key.
                        """
                )
            }
            guard bytes <= 255 else {
                throw DiscoveryError(
                    code: .invalidProperty,
                    message: "A property of \(bytes) bytes cannot be advertised: the maximum is 255 bytes for key, "
                        + "equals sign and value. Shorten it."
                )
            }
            size += bytes + 1
        }
        guard size <= DiscoveryLimits.propertyBytes else {
            throw DiscoveryError(
                code: .propertiesTooLarge,
                message: """
                    Properties of \(size) bytes cannot be advertised: the maximum is \
                    \(DiscoveryLimits.propertyBytes). Advertise less, and send the rest over a connection.
                    """
            )
        }
    }

    /// The wire form, keys in alphabetical order; one empty string if there are none (RFC 6763 §6.1).
    static func encode(_ properties: [String: [UInt8]]) -> [UInt8] {
        guard !properties.isEmpty else { return [0] }
        var bytes: [UInt8] = []
        for (key, value) in properties.sorted(by: { $0.key < $1.key }) {
            bytes.append(UInt8(clamping: key.utf8.count + 1 + value.count))
            bytes.append(contentsOf: key.utf8)
            bytes.append(UInt8(ascii: "="))
            bytes.append(contentsOf: value)
        }
        return bytes
    }

    /// Decodes the properties in received strings. Malformed and excess strings are left out, and the first of equal
    /// keys counts (RFC 6763 §6.4). So any input yields a dictionary of bounded size.
    static func decode(_ strings: some Sequence<[UInt8]>) -> [String: [UInt8]] {
        var properties: [String: [UInt8]] = [:]
        var size = 0
        for string in strings {
            let separator = string.firstIndex(of: UInt8(ascii: "="))
            let name = string[..<(separator ?? string.endIndex)]
            // A key without a value counts as one with an empty value, as it would be advertised.
            let bytes = string.count + (separator == nil ? 1 : 0)
            guard bytes <= 255 else { continue }
            size += bytes + 1
            guard size <= DiscoveryLimits.propertyBytes, properties.count < DiscoveryLimits.properties else { break }
            guard isKey(name) else { continue }
            let key = String(decoding: name, as: UTF8.self).lowercasedASCII
            guard properties[key] == nil else { continue }
            properties[key] = separator.map { Array(string[($0 + 1)...]) } ?? []
        }
        return properties
    }

    private static func isKey(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
    }
}

extension String {
    /// The text with ASCII letters in lower case, as DNS compares names. Does not use Unicode tables.
    var lowercasedASCII: String {
        String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
    }
}
