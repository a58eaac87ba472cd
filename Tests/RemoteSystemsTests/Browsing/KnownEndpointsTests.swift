// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// The rules of the memory of known systems, without files or networks.
@Suite struct KnownEndpointsTests {
    static let day = 24 * 3600
    static let now = 1_800_000_000

    static func system(_ number: Int) throws -> SystemID {
        try #require(
            SystemID(bytes: [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 7, count: 30))
        )
    }

    static func empty() -> KnownEndpoints { KnownEndpoints(salt: [UInt8](repeating: 1, count: 16)) }

    static func texts(_ known: KnownEndpoints, on network: String...) -> [String] {
        known.processes { _ in network }.map { $0.endpoints.map(\.description).joined(separator: " ") }
    }

    @Test func `an endpoint is tried only on the network where it worked`() throws {
        var known = Self.empty()
        known.met(try Self.system(1), host: "10.0.0.2", port: 4000, on: "home", at: Self.now)
        known.met(try Self.system(1), host: "172.16.0.2", port: 4000, on: "work", at: Self.now + 1)
        #expect(Self.texts(known, on: "home") == ["10.0.0.2:4000"])
        #expect(Self.texts(known, on: "work") == ["172.16.0.2:4000"])
        #expect(Self.texts(known, on: "café") == [])
        #expect(Self.texts(known) == [])
    }

    @Test func `each process is one entry, at all of its addresses, the newest first`() throws {
        var known = Self.empty()
        for (second, (number, host, port)) in [
            (1, "10.0.0.2", 4000), (1, "fe80::2%eth0", 4000), (1, "10.0.0.2", 5000), (2, "10.0.0.3", 4000),
        ].enumerated() {
            known.met(try Self.system(number), host: host, port: port, on: "home", at: Self.now + second)
        }
        #expect(
            Self.texts(known, on: "home") == [
                "10.0.0.3:4000", "10.0.0.2:5000", "[fe80::2%eth0]:4000 10.0.0.2:4000",
            ]
        )
    }

    @Test func `a system keeps its eight newest endpoints, and 1024 systems and 4096 endpoints are kept`() throws {
        var known = Self.empty()
        let one = try Self.system(1)
        for port in 1...20 { known.met(one, host: "10.0.0.2", port: port, on: "home", at: Self.now + port) }
        #expect(known.systems[one]?.map(\.port) == Array((13...20).reversed()))

        known = Self.empty()
        for number in 0..<1100 {
            known.met(try Self.system(number), host: "10.0.0.2", port: 1, on: "home", at: Self.now + number)
        }
        #expect(known.systems.count == KnownEndpoints.maxSystems)
        #expect(known.systems[try Self.system(75)] == nil)
        #expect(known.systems[try Self.system(76)] != nil)

        for port in 1...8 {
            for number in 500..<1100 {
                known.met(try Self.system(number), host: "h", port: port, on: "n", at: Self.now + 2000 + number)
            }
        }
        #expect(known.systems.values.reduce(0) { $0 + $1.count } <= KnownEndpoints.maxEndpoints)
        #expect(known.systems[try Self.system(1099)]?.count == 8)
        // The largest possible contents are readable again: a larger file than 1 MiB is not.
        let long = String(repeating: "f", count: 61)
        var largest = Self.empty()
        for number in 0..<512 {
            for port in 65_528...65_535 {
                largest.met(try Self.system(number), host: long, port: port, on: "n", at: Self.now)
            }
        }
        let file = try largest.file()
        #expect(file.count < 1 << 20)
        #expect(try KnownEndpoints(file: file) == largest)
    }

    @Test func `an endpoint is forgotten 30 days after it last worked, and one from the future at once`() throws {
        var known = Self.empty()
        let (one, two) = (try Self.system(1), try Self.system(2))
        known.met(one, host: "10.0.0.2", port: 1, on: "home", at: Self.now)
        known.met(two, host: "10.0.0.3", port: 1, on: "home", at: Self.now + 3 * Self.day)
        known.dropOld(now: Self.now + 30 * Self.day)
        #expect(known.systems.count == 2)
        known.dropOld(now: Self.now + 30 * Self.day + 1)
        #expect(Array(known.systems.keys) == [two])
        known.dropOld(now: Self.now)
        #expect(known.systems.isEmpty)
    }

    @Test func `meeting again is stored once a day`() throws {
        var known = Self.empty()
        let one = try Self.system(1)
        func meet(_ time: Int) -> Bool { known.met(one, host: "10.0.0.2", port: 1, on: "home", at: time) }
        #expect(meet(Self.now))
        #expect(!meet(Self.now + 60))
        #expect(meet(Self.now + Self.day))
        #expect(known.systems[one]?.map(\.met) == [Self.now + Self.day])
        // Another network is another entry.
        #expect(known.met(one, host: "10.0.0.2", port: 1, on: "work", at: Self.now + Self.day) == true)
        #expect(known.systems[one]?.count == 2)
    }

    @Test func `systems and endpoints are forgotten`() throws {
        var known = Self.empty()
        let (one, two) = (try Self.system(1), try Self.system(2))
        for system in [one, two] {
            for port in [1, 2] { known.met(system, host: "10.0.0.2", port: port, on: "home", at: Self.now) }
        }
        #expect(known.forget([one]) == true)
        #expect(known.forget([one]) == false)
        #expect(known.forget(two, host: "10.0.0.2", port: 1) == true)
        #expect(known.forget(two, host: "10.0.0.2", port: 1) == false)
        #expect(known.systems[two]?.map(\.port) == [2])
        #expect(known.forget(two, host: "10.0.0.2", port: 2) == true)
        #expect(known.systems.isEmpty)
    }

    @Test func `the file contains no network, and another salt gives other hashes`() throws {
        var known = Self.empty()
        let network = "direct c0.a8.1.0/24 02:fc:00:00:00:05"
        known.met(try Self.system(1), host: "192.168.1.30", port: 1, on: network, at: Self.now)
        let text = String(decoding: try known.file(), as: UTF8.self)
        #expect(!text.contains("02:fc") && !text.contains("c0.a8"))
        #expect(KnownEndpoints(salt: [UInt8](repeating: 2, count: 16)).hash(network) != known.hash(network))
        #expect(KnownEndpoints.empty().salt != KnownEndpoints.empty().salt)
    }

    @Test func `a damaged or newer file is refused, and impossible entries are ignored`() throws {
        func failure(_ text: String) -> VersionedFile.Failure? {
            do {
                _ = try KnownEndpoints(file: Array(text.utf8))
                return nil
            } catch {
                return error
            }
        }
        #expect(failure("") == .damaged)
        #expect(failure("[]") == .damaged)
        #expect(failure(#"{"version":1}"#) == .damaged)
        #expect(failure(#"{"version":1,"salt":"AAAA","systems":{}}"#) == .damaged)
        #expect(failure(#"{"version":2,"anything":1}"#) == .newerVersion)
        let id = try Self.system(1)
        let entries = [
            #"{"host":"10.0.0.2","port":0,"network":"0123456789abcdef","met":1}"#,
            #"{"host":"","port":1,"network":"0123456789abcdef","met":1}"#,
            #"{"host":"10.0.0.2","port":1,"network":"01","met":1}"#,
            #"{"host":"10.0.0.9","port":65535,"network":"0123456789abcdef","met":1}"#,
        ]
        let text = """
            {"version":1,"salt":"AAAAAAAAAAAAAAAAAAAAAA==",
            "systems":{"\(id)":[\(entries.joined(separator: ","))],"x":[]}}
            """
        let known = try KnownEndpoints(file: Array(text.utf8))
        #expect(known.systems.values.flatMap(\.self).map(\.host) == ["10.0.0.9"])
    }

    @Test(arguments: [Int.min, -1, 100_000_000_001, Int.max])
    func `what has an impossible time is ignored`(time: Int) throws {
        let id = try Self.system(1)
        func known(met: Int, _ meeting: (end: Int, time: Int), _ refusal: (end: Int, time: Int)) throws
            -> KnownEndpoints
        {
            let text = """
                {"version":1,"salt":"AAAAAAAAAAAAAAAAAAAAAA==",
                "systems":{"\(id)":[{"host":"10.0.0.2","port":1,"network":"0123456789abcdef","met":\(met)}]},
                "met":{"\(id)":{"name":"den","certificateEnd":\(meeting.end),"time":\(meeting.time)}},
                "refusal":{"system":"\(id)","certificateEnd":\(refusal.end),"time":\(refusal.time)}}
                """
            return try KnownEndpoints(file: Array(text.utf8))
        }
        let possible = try known(met: 0, (end: 1, time: 100_000_000_000), (end: 1, time: 1))
        #expect(possible.systems.count == 1 && possible.met.count == 1 && possible.refusal != nil)
        let late = try known(met: time, (end: 1, time: time), (end: 1, time: time))
        let long = try known(met: time, (end: time, time: 1), (end: time, time: 1))
        for read in [late, long] { #expect(read.systems.isEmpty && read.met.isEmpty && read.refusal == nil) }
    }
}
