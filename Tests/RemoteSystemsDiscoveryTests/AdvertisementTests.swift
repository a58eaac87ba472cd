// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing

@testable import RemoteSystemsDiscovery

/// Issue 2 §5: invalid advertisements are refused with a reason; an advertisement contains no name of host or user.
@Suite struct AdvertisementTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let advertisement: DiscoveryAdvertisement
        let code: DiscoveryError.Code
    }

    static let refusals: [Refusal] = [
        .init(testDescription: "no name", advertisement: .init(instance: "", port: 1), code: .invalidInstance),
        .init(
            testDescription: "a name of 64 bytes",
            advertisement: .init(instance: String(repeating: "é", count: 32), port: 1),
            code: .invalidInstance
        ),
        .init(testDescription: "a line break", advertisement: .init(instance: "a\nb", port: 1), code: .invalidInstance),
        .init(testDescription: "a zero byte", advertisement: .init(instance: "a\0b", port: 1), code: .invalidInstance),
        .init(testDescription: "port 0", advertisement: .init(instance: "a", port: 0), code: .invalidPort),
        .init(testDescription: "port 65536", advertisement: .init(instance: "a", port: 65536), code: .invalidPort),
        .init(
            testDescription: "an empty key",
            advertisement: .init(instance: "a", port: 1, properties: ["": []]),
            code: .invalidProperty
        ),
        .init(
            testDescription: "a key with =",
            advertisement: .init(instance: "a", port: 1, properties: ["a=b": []]),
            code: .invalidProperty
        ),
        .init(
            testDescription: "a key that is not ASCII",
            advertisement: .init(instance: "a", port: 1, properties: ["ü": []]),
            code: .invalidProperty
        ),
        .init(
            testDescription: "keys that differ in case only",
            advertisement: .init(instance: "a", port: 1, properties: ["k": [], "K": []]),
            code: .invalidProperty
        ),
        .init(
            testDescription: "a pair of 256 bytes",
            advertisement: .init(instance: "a", port: 1, properties: ["k": Array(repeating: 1, count: 254)]),
            code: .invalidProperty
        ),
        .init(
            testDescription: "1301 bytes in all",
            advertisement: .init(instance: "a", port: 1, properties: properties(bytes: 1301)),
            code: .propertiesTooLarge
        ),
    ]

    /// Properties that take this many bytes in a TXT record.
    static func properties(bytes: Int) -> [String: [UInt8]] {
        var properties: [String: [UInt8]] = [:]
        var left = bytes
        while left > 0 {
            let pair = left > 256 ? 200 : min(left, 255)
            properties["k\(left)"] = Array(repeating: 1, count: pair - "k\(left)".utf8.count - 2)
            left -= pair
        }
        return properties
    }

    @Test(arguments: refusals) func `an invalid advertisement is refused`(_ refusal: Refusal) {
        let error = #expect(throws: DiscoveryError.self) { try refusal.advertisement.validate() }
        #expect(error?.code == refusal.code)
    }

    @Test(arguments: ["a", "with space", "dots.and\\backslashes", "😀", String(repeating: "x", count: 63)])
    func `valid names are accepted`(_ name: String) throws {
        try DiscoveryAdvertisement(instance: name, port: 65535, properties: ["k": [0, 255], "v": []]).validate()
    }

    @Test func `properties of exactly the maximum size are accepted`() throws {
        let properties = Self.properties(bytes: DiscoveryLimits.propertyBytes)
        try DiscoveryAdvertisement(instance: "a", port: 1, properties: properties).validate()
        #expect(TXTRecord.encode(properties).count == DiscoveryLimits.propertyBytes)
    }

    @Test func `an invalid advertisement throws at once`() async {
        let discovery = AvahiDiscovery(mode: .embedded, interfaces: .only(["lo"]), logger: Logger(label: "test"))
        await #expect(throws: DiscoveryError.self) {
            try await discovery.advertise(DiscoveryAdvertisement(instance: "a", port: 0))
        }
    }

    // MARK: Wire format

    @Test func `a TXT record is a list of length-prefixed pairs`() {
        #expect(TXTRecord.encode(["b": [0, 1], "a": []]) == [2, 0x61, 0x3D, 4, 0x62, 0x3D, 0, 1])
        #expect(TXTRecord.encode([:]) == [0])
    }

    @Test func `a received TXT record becomes properties`() {
        let strings = ["Key=1=2", "key=second", "flag", "=no key", "", "\u{1}=bad"].map { Array($0.utf8) }
        #expect(TXTRecord.decode(strings) == ["key": Array("1=2".utf8), "flag": []])
    }

    @Test func `a received TXT record of any size becomes properties of bounded size`() {
        let many = (0..<1000).map { Array("k\($0)=v".utf8) }
        #expect(TXTRecord.decode(many).count == DiscoveryLimits.properties)
        let large = (0..<100).map { Array("k\($0)=".utf8) + [UInt8](repeating: 1, count: 250) }
        #expect(TXTRecord.decode(large).count == 5)
        #expect(TXTRecord.decode([[UInt8](repeating: 0xFF, count: 70_000)]).isEmpty)
    }

    @Test func `names are written as labels`() {
        #expect(DomainName.encoded(["ab", "local"]) == [2, 0x61, 0x62, 5] + Array("local".utf8) + [0])
        #expect(DomainName.escaped(["a.b\\c", "local"]) == #"a\.b\\c.local"#)
    }

    @Test func `the service type is short enough for RFC 6335`() {
        #expect(ServiceType.labels[0].utf8.count - 1 <= 15)
        #expect(ServiceType.name == ServiceType.labels.joined(separator: "."))
    }

    @Test func `a service is advertised by four records`() {
        let records = ServiceRecord.advertising(instance: "i.1", host: "h", port: 0x1234, properties: ["v": [0x31]])
        #expect(records.map(\.kind) == [.pointer, .service, .text, .pointer])
        #expect(records.map(\.isUnique) == [false, true, true, false])
        #expect(records[0].name == "_remote-systems._tcp.local")
        #expect(records[0].data == DomainName.encoded(["i.1", "_remote-systems", "_tcp", "local"]))
        #expect(records[1].name == #"i\.1._remote-systems._tcp.local"#)
        #expect(records[1].data == [0, 0, 0, 0, 0x12, 0x34] + DomainName.encoded(["h", "local"]))
        #expect(records[2].data == [3, 0x76, 0x3D, 0x31])
        #expect(records[3].name == "_services._dns-sd._udp.local")
    }

    @Test func `random labels are unique and valid host names`() {
        let labels = Set((0..<100).map { _ in DomainName.randomLabel() })
        #expect(labels.count == 100)
        #expect(labels.allSatisfy { $0.utf8.count == 20 && $0.allSatisfy { $0.isLowercase || $0.isNumber } })
    }
}
