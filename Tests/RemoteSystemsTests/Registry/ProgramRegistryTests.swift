// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

@testable import RemoteSystems

/// The host daemon's table of registered programs.
@Suite struct ProgramRegistryTests {
    private static func application(_ id: String) -> SystemDescription.Application {
        SystemDescription.Application(id: id, displayName: id)
    }

    private static func registration(port: Int, isOnLoopback: Bool = false) -> Registry.Registration {
        Registry.Registration(port: port, isOnLoopback: isOnLoopback, epoch: 7, network: "all")
    }

    @Test func `a program counts as running from its description and port until it leaves`() throws {
        let registry = ProgramRegistry()
        let number = try #require(registry.enter("test.one", ProgramProcess(pid: 4711)))
        registry.register(number, Self.registration(port: 4000))
        #expect(registry.processes.isEmpty)
        #expect(registry.describe(number, Self.application("test.one")))
        #expect(
            registry.processes == [RunningApplication(application: "test.one", port: 4000, pid: 4711)]
        )
        #expect(registry.programs(includesLoopback: false).map(\.epoch) == [7])
        let version = registry.version
        registry.leave(number)
        #expect(registry.processes.isEmpty)
        #expect(registry.version > version)
    }

    @Test func `a program describes its own application only`() throws {
        let registry = ProgramRegistry()
        let number = try #require(registry.enter("test.one", ProgramProcess(pid: 4711)))
        registry.register(number, Self.registration(port: 4000))
        #expect(!registry.describe(number, Self.application("test.two")))
        #expect(registry.processes.isEmpty)
    }

    @Test func `at most 256 programs register (CVE-2026-35405)`() {
        let registry = ProgramRegistry()
        let numbers = (0..<256).compactMap { registry.enter("test.\($0)", ProgramProcess(pid: 1)) }
        #expect(Set(numbers).count == 256)
        #expect(!registry.hasCapacity)
        #expect(registry.enter("test.more", ProgramProcess(pid: 1)) == nil)
        registry.leave(numbers[0])
        let next = registry.enter("test.more", ProgramProcess(pid: 1))
        // Watchers must not take the next program for the previous one.
        #expect(next != nil && !numbers.contains { $0 == next })
    }

    @Test func `of several processes of an application the first is listed that the reader can reach`() throws {
        let registry = ProgramRegistry()
        for (port, isOnLoopback) in [(4000, true), (4001, false)] {
            let number = try #require(registry.enter("test.one", ProgramProcess(pid: 1)))
            _ = registry.describe(number, Self.application("test.one"))
            registry.register(number, Self.registration(port: port, isOnLoopback: isOnLoopback))
        }
        #expect(registry.programs(includesLoopback: true).map(\.port) == [4000])
        #expect(registry.programs(includesLoopback: false).map(\.port) == [4001])
    }

    @Test func `an expected program is named until it registers or is dropped`() throws {
        let registry = ProgramRegistry()
        let expected = ["test.one", "test.two"].map { RunningApplication(application: $0, port: 4000, pid: 1) }
        registry.expect(expected)
        #expect(registry.processes == expected)
        #expect(registry.programs(includesLoopback: true).isEmpty)
        let number = try #require(registry.enter("test.one", ProgramProcess(pid: 1)))
        _ = registry.describe(number, Self.application("test.one"))
        #expect(registry.processes == expected)
        registry.register(number, Self.registration(port: 4001))
        #expect(registry.processes.map(\.port) == [4001, 4000])
        registry.leave(number)
        #expect(registry.processes == [expected[1]])
        let version = registry.version
        registry.forget(expected)
        #expect(registry.processes.isEmpty)
        #expect(registry.version > version)
    }

    @Test func `a repeated registration changes nothing`() throws {
        let registry = ProgramRegistry()
        let number = try #require(registry.enter("test.one", ProgramProcess(pid: 1)))
        registry.register(number, Self.registration(port: 4000))
        let version = registry.version
        registry.register(number, Self.registration(port: 4000))
        #expect(registry.version == version)
        registry.register(number, Self.registration(port: 4001))
        #expect(registry.version > version)
    }

    @Test func `the start of an application ends when it registers`() async throws {
        let registry = ProgramRegistry()
        let number = try #require(registry.enter("test.one", ProgramProcess(pid: 1)))
        async let port = registry.port(whenRegistered: "test.one")
        registry.register(number, Self.registration(port: 4000))
        _ = registry.describe(number, Self.application("test.one"))
        #expect(await port == 4000)
    }

    @Test(
        arguments: [
            ["Type": "other", "Port": 4000, "Epoch": 1, "Network": "all"],
            ["Type": "register", "Epoch": 1, "Network": "all"],
            ["Type": "register", "Port": 0, "Epoch": 1, "Network": "all"],
            ["Type": "register", "Port": 65_536, "Epoch": 1, "Network": "all"],
            ["Type": "register", "Port": 4000, "Epoch": "1", "Network": "all"],
            ["Type": "register", "Port": 4000, "Epoch": 1], [:],
        ] as [ValueSet]
    )
    func `an incomplete registration is not accepted`(message: ValueSet) {
        #expect(Registry.Registration(message) == nil)
    }

    @Test func `a registration survives its conversion to a message`() {
        let registration = Self.registration(port: 4000, isOnLoopback: true)
        #expect(Registry.Registration(registration.message) == registration)
    }
}
