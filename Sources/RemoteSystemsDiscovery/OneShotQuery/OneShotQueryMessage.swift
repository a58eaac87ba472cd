// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi

/// The messages of a one-shot query, whose response is sent by unicast (RFC 6762 §5.1, §6.7).
enum OneShotQueryMessage {
    /// An instance of our service with everything needed to connect to it.
    struct Answer: Sendable, Equatable {
        var instance: String
        var hostName: String
        var port: Int
        /// The addresses of the host; empty if the response has none.
        var addresses: [NetworkAddress]
        var properties: [String: [UInt8]]

        /// Where the instance is, according to a packet that arrived on an interface from this sender.
        func resolution(
            on interface: NetworkInterface,
            _ family: ServiceInstance.Family,
            from sender: NetworkAddress
        ) -> Resolution {
            let known = addresses.filter { $0.family == family }
            // The sender's address is known to work, but the sender may only repeat another host's records.
            let address = known.isEmpty || known.contains(sender) ? sender : known[0]
            return Resolution(
                hostName: hostName,
                endpoint: DiscoveryEndpoint(
                    address: address.text(scope: interface.name),
                    port: port,
                    interface: DiscoveryInterface(index: Int(interface.index), name: interface.name)
                ),
                properties: properties
            )
        }
    }

    /// The maximum number of records that are read: more than fit the 512 bytes of such a response.
    private static let records = 128

    /// Queries all records of our service type. If it queried only the PTR record, other stacks would count it as their
    /// own next query (RFC 6762 §7.3), and would not receive the unicast response.
    static func question(id: UInt16) -> [UInt8] {
        let any: UInt16 = 255
        let fields = [id, 0, 1, 0, 0, 0]
        let name = DomainName.encoded(ServiceType.labels + [ServiceType.domain])
        return fields.flatMap(\.bytes) + name + any.bytes + ServiceRecord.internetClass.bytes
    }

    /// The instances in a response to the query with this id, or in an announcement, whose id has no meaning. Empty for
    /// any other or malformed packet.
    ///
    /// - Parameter id: `nil` for any packet with responses.
    static func answers(in packet: [UInt8], to id: UInt16?) -> [Answer] {
        var collection = Collection()
        unsafe packet.withUnsafeBufferPointer { packet in
            var message = unsafe ns_msg()
            guard let start = packet.baseAddress, unsafe ns_initparse(start, Int32(packet.count), &message) == 0,
                id == nil || (unsafe message._id) == id, unsafe message._flags & 0x8000 != 0
            else { return }
            for (section, count) in unsafe [(ns_s_an, message._counts.1), (ns_s_ar, message._counts.3)] {
                for index in 0..<min(Int(count), records) {
                    var record = unsafe ns_rr()
                    guard unsafe ns_parserr(&message, section, Int32(index), &record) == 0 else { return }
                    unsafe collection.add(record, of: packet)
                }
            }
        }
        return collection.answers
    }
}

/// The relevant records of one response, by owner name in the C library's text form.
private struct Collection {
    private var instances: [(name: String, label: String)] = []
    private var services: [String: (host: String, port: Int)] = [:]
    private var texts: [String: [String: [UInt8]]] = [:]
    private var addresses: [String: [NetworkAddress]] = [:]

    mutating func add(_ record: ns_rr, of packet: UnsafeBufferPointer<UInt8>) {
        // The upper bit means that no other host has such a record (RFC 6762 §10.2).
        guard unsafe record.rr_class & 0x7FFF == ServiceRecord.internetClass, let start = unsafe record.rdata else {
            return
        }
        // A record without time to live is being withdrawn (RFC 6762 §10.1).
        guard unsafe record.ttl > 0 else { return }
        let data = unsafe UnsafeBufferPointer(start: start, count: Int(record.rdlength))
        let name = unsafe withUnsafeBytes(of: record.name) { unsafe Self.text($0) }
        switch unsafe Int32(record.type) {
        case Int32(ns_t_ptr.rawValue):
            guard let target = unsafe Self.name(at: start, in: packet), let label = Self.label(target) else { return }
            instances.append((target.lowercasedASCII, label))
        case Int32(ns_t_srv.rawValue):
            guard data.count > 6, let host = unsafe Self.name(at: start + 6, in: packet) else { return }
            let port = unsafe Int(data[4]) << 8 | Int(data[5])
            if port > 0 { services[name.lowercasedASCII] = (host, port) }
        case Int32(ns_t_txt.rawValue):
            unsafe texts[name.lowercasedASCII] = TXTRecord.decode(Self.strings(data))
        case Int32(ns_t_a.rawValue) where data.count == 4:
            unsafe addresses[name.lowercasedASCII, default: []].append(.ipv4(Array(data)))
        case Int32(ns_t_aaaa.rawValue) where data.count == 16:
            unsafe addresses[name.lowercasedASCII, default: []].append(.ipv6(Array(data)))
        default: break
        }
    }

    /// The complete instances. If a record did not fit, Avahi finds the instance.
    var answers: [OneShotQueryMessage.Answer] {
        instances.compactMap { name, label in
            guard let (host, port) = services[name], let properties = texts[name] else { return nil }
            return OneShotQueryMessage.Answer(
                instance: label,
                hostName: host,
                port: port,
                addresses: addresses[host.lowercasedASCII] ?? [],
                properties: properties
            )
        }
    }

    /// The instance label of a name of our service type; nil for other names.
    private static func label(_ name: String) -> String? {
        let size = Int(AVAHI_DOMAIN_NAME_MAX)
        var (label, type, domain) = (
            [CChar](repeating: 0, count: 64), [CChar](repeating: 0, count: size), [CChar](repeating: 0, count: size)
        )
        let status = unsafe avahi_service_name_split(name, &label, label.count, &type, size, &domain, size)
        guard status == Int32(AVAHI_OK) else { return nil }
        let texts = [label, type, domain].map { text in unsafe text.withUnsafeBytes { unsafe Self.text($0) } }
        guard texts[1].lowercasedASCII == ServiceType.name, texts[2].lowercasedASCII == ServiceType.domain else {
            return nil
        }
        return texts[0]
    }

    private static func name(at start: UnsafePointer<UInt8>, in packet: UnsafeBufferPointer<UInt8>) -> String? {
        guard let first = packet.baseAddress else { return nil }
        var text = [CChar](repeating: 0, count: Int(NS_MAXDNAME))
        let size = unsafe ns_name_uncompress(first, first + packet.count, start, &text, text.count)
        return size < 0 ? nil : unsafe text.withUnsafeBytes { unsafe Self.text($0) }
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// The strings of a TXT record, each preceded by its length.
    private static func strings(_ data: UnsafeBufferPointer<UInt8>) -> [[UInt8]] {
        var strings: [[UInt8]] = []
        var rest = unsafe Array(data)[...]
        while let size = rest.popFirst(), size <= rest.count {
            strings.append(Array(rest.prefix(Int(size))))
            rest = rest.dropFirst(Int(size))
        }
        return strings
    }
}

extension UInt16 {
    fileprivate var bytes: [UInt8] { [UInt8(self >> 8), UInt8(self & 0xFF)] }
}
