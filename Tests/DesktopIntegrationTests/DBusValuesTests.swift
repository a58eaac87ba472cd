// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Testing

extension DesktopTests {
    /// R-36: dictionaries cross a real bus to and from independent programs: gdbus (GLib) and busctl (systemd), through
    /// dbus-daemon, which validates every message.
    @Suite struct Values {
        private struct Caller {
            let bus: [String: String]

            private func call(_ arguments: [String]) async throws -> String {
                try await run(arguments, environment: self.bus).trimmingCharacters(in: .whitespacesAndNewlines)
            }

            func gdbus(_ method: String, _ argument: String) async throws -> String {
                try await self.call([
                    "gdbus", "call", "--session", "--dest", "org.example.values", "--object-path", "/values",
                    "--method", "org.example.Values.\(method)", argument,
                ])
            }

            func busctl(_ method: String, _ arguments: String...) async throws -> String {
                try await self.call(
                    [
                        "busctl", "--address=\(self.bus["DBUS_SESSION_BUS_ADDRESS"] ?? "")", "call",
                        "org.example.values", "/values", "org.example.Values", method,
                    ] + arguments
                )
            }
        }

        private static func with(_ body: (Caller) async throws -> Void) async throws {
            try await Desktop.with { desktop in
                try await desktop.withBus { bus in
                    let probe = try ChildProcess(
                        [desktop.probe, "values", "org.example.values"],
                        environment: desktop.environment.merging(bus) { $1 },
                        readsErrors: true
                    )
                    do {
                        _ = try await eventually("the name", within: .seconds(30)) {
                            probe.lines.contains("ready") ? true : nil
                        }
                        try await body(Caller(bus: bus))
                        #expect(probe.exitCode == nil, "\(probe.lines)")
                    } catch {
                        await probe.stop()
                        throw error
                    }
                    await probe.stop()
                }
            }
        }

        @Test func `a dictionary from GLib's gdbus is a value set, and returns to gdbus unchanged (R-36)`() async throws
        {
            try await Self.with { caller in
                let sent =
                    "{'b': <true>, 'x': <int64 -9223372036854775808>, 't': <uint64 18446744073709551615>, "
                    + "'d': <1.5>, 's': <'é'>, 'ay': <[byte 0x00, 0xff]>, 'as': <['a', 'b']>, 'av': <[<true>, <'x'>]>, "
                    + "'dict': <{'deep': <{'end': <int64 1>}>}>}"
                let echoed = try await caller.gdbus("Echo", sent)
                // In the order of keys on the wire: shorter first.
                #expect(
                    echoed == "({'b': <true>, 'd': <1.5>, 's': <'é'>, 't': <uint64 18446744073709551615>, "
                        + "'x': <int64 -9223372036854775808>, 'as': <['a', 'b']>, 'av': <[<true>, <'x'>]>, "
                        + "'ay': <[byte 0x00, 0xff]>, 'dict': <{'deep': <{'end': <int64 1>}>}>},)"
                )
                // Numbers of every size, paths, signatures, structures and nested variants lose their type, not their
                // value.
                let narrow =
                    "{'y': <byte 0xff>, 'n': <int16 -1>, 'q': <uint16 65535>, 'i': <-2>, 'u': <uint32 4294967295>, "
                    + "'o': <objectpath '/a'>, 'g': <signature 'as'>, 'v': <<<'in'>>>, 'struct': <(1, 'two')>, "
                    + "'map': <{'k': 'v'}>}"
                let response = try await caller.gdbus("ToJSON", narrow)
                let json = response.dropFirst("('".count).dropLast("',)".count)
                let expected: ValueSet = [
                    "y": 255, "n": -1, "q": 65_535, "i": -2, "u": 4_294_967_295, "o": "/a", "g": "as", "v": "in",
                    "struct": .array([1, "two"]), "map": .dictionary(["k": "v"]),
                ]
                #expect(try ValueSet(json: Data(json.utf8)) == expected, "\(response)")
            }
        }

        @Test func `a dictionary from systemd's busctl is a value set, and returns unchanged (R-36)`() async throws {
            try await Self.with { caller in
                #expect(
                    try await caller.busctl("Echo", "a{sv}", "2", "one", "i", "1", "all", "as", "2", "a", "b")
                        == #"a{sv} 2 "all" as 2 "a" "b" "one" x 1"#
                )
                let json =
                    #"{"at":{"$date":1.5},"id":{"$uuid":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F"},"no":null,"#
                    + #""site":{"$url":"https://example.com/"},"$$own":1}"#
                let response = try await caller.busctl("FromJSON", "s", json)
                #expect(
                    response == #"a{sv} 5 "at" a{sv} 1 "$date" d 1.5 "id" a{sv} 1 "$uuid" s "#
                        + #""E621E1F8-C36C-495A-93FC-0C247A3E6E5F" "no" a{sv} 1 "$null" b true "#
                        + #""$$own" x 1 "site" a{sv} 1 "$url" s "https://example.com/""#
                )
            }
        }

        @Test func `values without a counterpart are refused with their place, and the bus stays usable (R-36)`()
            async throws
        {
            try await Self.with { caller in
                for (sent, place) in [
                    ("{'a': <{'b': <{1: 'x'}>}>}", "a.b"), ("{'list': <[<true>, <{'$uuid': <'x'>}>]>}", "list[1]"),
                    ("{'$date': <1.5>}", "$date"),
                ] {
                    let error = await #expect(throws: IntegrationError.self) {
                        _ = try await caller.gdbus("Echo", sent)
                    }
                    #expect("\(error.map { "\($0)" } ?? "")".contains(place), "\(sent)")
                }
                let empty = try await caller.gdbus("Echo", "{}")
                #expect(empty == "(@a{sv} {},)")
            }
        }

        @Test
        func `collections of the maximum depth pass the bus, and deeper ones are refused before sending (R-36)`()
            async throws
        {
            try await Self.with { caller in
                let deep = try await caller.busctl("Nest", "u", "21")
                #expect(deep.components(separatedBy: "\"in\"").count == 21)
                let error = await #expect(throws: IntegrationError.self) {
                    _ = try await caller.busctl("Nest", "u", "22")
                }
                #expect("\(error.map { "\($0)" } ?? "")".contains("nested too deeply"))
                let empty = try await caller.gdbus("Echo", "{}")
                #expect(empty == "(@a{sv} {},)")
            }
        }
    }
}
