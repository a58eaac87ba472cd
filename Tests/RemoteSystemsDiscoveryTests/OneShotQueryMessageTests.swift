// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

/// RFC 6762 §6.7: the one-shot query to every host, and the unicast response of each.
@Suite struct OneShotQueryMessageTests {
    private let service = ["_remote-systems", "_tcp", "local"]
    private let host = ["host7", "local"]

    private func packet(
        id: UInt16 = 7,
        flags: UInt16 = 0x8400,
        answers: [[UInt8]],
        additional: [[UInt8]] = []
    ) -> [UInt8] {
        let question = Array(OneShotQueryMessage.question(id: id).dropFirst(12))
        let counts = [id, flags, 1, UInt16(answers.count), 0, UInt16(additional.count)]
        return counts.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } + question + (answers + additional).flatMap { $0 }
    }

    private func record(_ name: [String], _ type: UInt8, _ data: [UInt8], class upper: UInt8 = 0) -> [UInt8] {
        DomainName.encoded(name) + [0, type, upper, 1, 0, 0, 0, 10, UInt8(data.count >> 8), UInt8(data.count & 0xFF)]
            + data
    }

    private func records(_ instance: String, port: UInt8 = 9) -> [[UInt8]] {
        let name = [instance] + service
        return [
            record(service, 12, DomainName.encoded(name)),
            record(name, 33, [0, 0, 0, 0, 0x1F, port] + DomainName.encoded(host), class: 0x80),
            record(name, 16, TXTRecord.encode(["v": [0x31], "empty": []]), class: 0x80),
            record(host, 1, [10, 0, 0, 7], class: 0x80),
            record(host, 28, [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [7], class: 0x80),
        ]
    }

    private func answer(_ instance: String, port: Int = 0x1F09) -> OneShotQueryMessage.Answer {
        OneShotQueryMessage.Answer(
            instance: instance,
            hostName: "host7.local",
            port: port,
            addresses: [.ipv4([10, 0, 0, 7]), .ipv6([0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [7])],
            properties: ["v": [0x31], "empty": []]
        )
    }

    @Test func `the query asks for all records of the service type, and nothing else`() {
        let expected: [UInt8] =
            [0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 15] + Array("_remote-systems".utf8) + [4] + Array("_tcp".utf8)
            + [5]
            + Array("local".utf8) + [0, 0, 255, 0, 1]
        #expect(OneShotQueryMessage.question(id: 0x1234) == expected)
    }

    @Test func `a response contains instance, host, port, addresses and properties`() {
        #expect(OneShotQueryMessage.answers(in: packet(answers: records("abc")), to: 7) == [answer("abc")])
        let split = packet(answers: [records("abc")[0]], additional: Array(records("abc").dropFirst()))
        #expect(OneShotQueryMessage.answers(in: split, to: 7) == [answer("abc")])
    }

    @Test func `a response with several services reports all of them`() {
        let both = packet(answers: records("abc") + records("def", port: 10).prefix(3))
        #expect(OneShotQueryMessage.answers(in: both, to: 7) == [answer("abc"), answer("def", port: 0x1F0A)])
    }

    // The C library escapes a few more characters than Avahi reads. Names with those are left to Avahi.
    @Test(arguments: ["with.dot", "back\\slash", "Zimmer 7 – Küche"])
    func `names of any content arrive as they were advertised`(_ name: String) {
        #expect(OneShotQueryMessage.answers(in: packet(answers: records(name)), to: 7).map(\.instance) == [name])
    }

    @Test(arguments: 1...3)
    func `an instance with a missing record is left to Avahi`(_ missing: Int) {
        var partial = records("abc")
        partial.remove(at: missing == 3 ? 0 : missing)
        #expect(OneShotQueryMessage.answers(in: packet(answers: partial), to: 7).isEmpty)
    }

    @Test func `a response without addresses yields none, so that the sender's address is used`() {
        let answers = OneShotQueryMessage.answers(in: packet(answers: Array(records("abc").prefix(3))), to: 7)
        #expect(answers.map(\.addresses) == [[]])
    }

    /// An empty packet made Avahi loop for ever (CVE-2011-1002).
    @Test func `packets that do not respond to the query are ignored`() {
        let records = records("abc")
        #expect(OneShotQueryMessage.answers(in: packet(id: 8, answers: records), to: 7).isEmpty)
        #expect(OneShotQueryMessage.answers(in: packet(flags: 0, answers: records), to: 7).isEmpty)
        #expect(OneShotQueryMessage.answers(in: OneShotQueryMessage.question(id: 7), to: 7).isEmpty)
        #expect(OneShotQueryMessage.answers(in: [], to: 7).isEmpty)
        let other = [record(["_http", "_tcp", "local"], 12, DomainName.encoded(["abc", "_http", "_tcp", "local"]))]
        #expect(OneShotQueryMessage.answers(in: packet(answers: other), to: 7).isEmpty)
        let noPort = [record(["abc"] + service, 33, [0, 0, 0, 0, 0, 0] + DomainName.encoded(host))]
        #expect(
            OneShotQueryMessage.answers(
                in: packet(answers: noPort + [self.records("abc")[0], self.records("abc")[2]]),
                to: 7
            ).isEmpty
        )
    }

    /// Lengths that exceed the packet ended Avahi (CVE-2023-38469, CVE-2023-38473).
    @Test
    func `truncated or altered responses cause no crash and no invalid instance (CVE-2023-38469, CVE-2023-38473)`() {
        let whole = packet(answers: records("abc"))
        for count in whole.indices {
            _ = OneShotQueryMessage.answers(in: Array(whole.prefix(count)), to: 7)
        }
        var generator = SystemRandomNumberGenerator()
        for index in whole.indices {
            for _ in 0..<16 {
                var altered = whole
                altered[index] = .random(in: 0...255, using: &generator)
                for answer in OneShotQueryMessage.answers(in: altered, to: 7) {
                    #expect(answer.port > 0 && answer.instance.utf8.count < 256)
                }
            }
        }
    }

    @Test func `parsing ends for names that point at themselves (CVE-2011-1002)`() {
        // A compressed name whose pointer is its own offset (RFC 1035 §4.1.4).
        let start = UInt8(packet(answers: []).count)
        let loop: [UInt8] = [0xC0, start, 0, 12, 0, 1, 0, 0, 0, 10, 0, 2, 0xC0, start]
        #expect(OneShotQueryMessage.answers(in: packet(answers: [loop]), to: 7).isEmpty)
    }

    /// Avahi followed such aliases until its stack overflowed (CVE-2026-24401).
    @Test func `aliases that name each other are not followed (CVE-2026-24401)`() {
        let (one, two) = (["one", "local"], ["two", "local"])
        let cname: UInt8 = 5
        let aliases = [
            record(one, cname, DomainName.encoded(two)), record(two, cname, DomainName.encoded(one)),
            record(["abc"] + service, cname, DomainName.encoded(["abc"] + service)),
            record(host, cname, DomainName.encoded(host)),
        ]
        #expect(OneShotQueryMessage.answers(in: packet(answers: aliases), to: 7).isEmpty)
        // Beside them, a response counts as without them.
        let whole = OneShotQueryMessage.answers(in: packet(answers: aliases + records("abc")), to: 7)
        #expect(whole == [answer("abc")])
    }
}
