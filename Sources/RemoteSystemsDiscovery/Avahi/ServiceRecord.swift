// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A resource record in the form that Avahi accepts.
struct ServiceRecord: Sendable, Hashable {
    /// The type of a resource record.
    enum Kind: UInt16, Sendable {
        case pointer = 12
        case text = 16
        case service = 33
    }

    /// The owner name, escaped as in a zone file.
    let name: String
    let kind: Kind
    /// The record data in wire format (RFC 1035 §3.3, RFC 2782).
    let data: [UInt8]
    /// Whether no other host may have a record of this name and kind (RFC 6762 §10.2).
    let isUnique: Bool

    /// The records that advertise a service at a host name, in the recommended sending order.
    static func advertising(
        instance: String,
        host: String,
        port: UInt16,
        properties: [String: [UInt8]]
    ) -> [ServiceRecord] {
        let typeLabels = ServiceType.labels + [ServiceType.domain]
        let type = DomainName.escaped(typeLabels)
        let instanceLabels = [instance] + typeLabels
        let name = DomainName.escaped(instanceLabels)
        let service: [UInt8] =
            [0, 0, 0, 0, UInt8(port >> 8), UInt8(port & 0xFF)] + DomainName.encoded([host, ServiceType.domain])
        return [
            ServiceRecord(name: type, kind: .pointer, data: DomainName.encoded(instanceLabels), isUnique: false),
            ServiceRecord(name: name, kind: .service, data: service, isUnique: true),
            ServiceRecord(name: name, kind: .text, data: TXTRecord.encode(properties), isUnique: true),
            // Lists the service type for hosts that enumerate types (RFC 6763 §9).
            ServiceRecord(
                name: DomainName.escaped(["_services", "_dns-sd", "_udp", ServiceType.domain]),
                kind: .pointer,
                data: DomainName.encoded(typeLabels),
                isUnique: false
            ),
        ]
    }
}

/// Domain names made of labels.
enum DomainName {
    /// The uncompressed wire form (RFC 1035 §3.1). Labels have 1 to 63 bytes.
    static func encoded(_ labels: [String]) -> [UInt8] {
        labels.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8) } + [0]
    }

    /// The text form that Avahi reads. Dots and backslashes inside labels are escaped.
    static func escaped(_ labels: [String]) -> String {
        labels.map { label in
            var escaped: [UInt8] = []
            for byte in label.utf8 {
                if byte == UInt8(ascii: ".") || byte == UInt8(ascii: "\\") { escaped.append(UInt8(ascii: "\\")) }
                escaped.append(byte)
            }
            return String(decoding: escaped, as: UTF8.self)
        }.joined(separator: ".")
    }

    /// A random, unique label for an advertised host name. It reveals nothing about the machine.
    static func randomLabel() -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
        var generator = SystemRandomNumberGenerator()
        return String((0..<20).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] })
    }
}
