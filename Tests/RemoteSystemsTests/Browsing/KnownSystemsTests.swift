// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems
@testable import RemoteSystemsDiscovery

/// The memory of known systems in an account's directory.
@Suite struct KnownSystemsTests {
    static let endpoint = Endpoint(host: "10.0.0.2", port: 4000)
    static let networks = Self.networks("02:01")

    /// A machine with two interfaces, of which `eth0` has a router with this hardware address.
    static func networks(_ router: String) -> PresentNetworks {
        PresentNetworks(
            [
                PresentNetworks.Attachment(interface: "eth0", address: [10, 0, 0, 1], prefixLength: 24),
                PresentNetworks.Attachment(interface: "eth1", address: [10, 1, 0, 1], prefixLength: 24),
            ],
            gateways: [
                PresentNetworks.Gateway(
                    interface: "eth0",
                    address: [10, 0, 0, 254],
                    metric: 0,
                    hardwareAddress: router
                )
            ]
        )
    }

    static func with(_ body: (AccountStore, SystemID) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "known-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = AccountStore(directory: directory)
        try await body(store, try store.identity().systemID)
    }

    static func memory(
        _ store: AccountStore,
        _ own: SystemID,
        reach: NetworkReach = .all
    ) -> KnownSystems {
        KnownSystems(
            store: store,
            ownSystem: own,
            reach: reach,
            queue: AccountQueue(),
            logger: RemoteSystemsConfiguration(applicationID: "test").logger
        )
    }

    /// What a program that starts on these networks would try.
    static func recalled(
        _ store: AccountStore,
        _ own: SystemID,
        reach: NetworkReach = .all,
        on networks: PresentNetworks = Self.networks,
        revoked: [SystemID] = []
    ) async -> [KnownProcess] {
        await Self.memory(store, own, reach: reach).recall(on: networks, revoked: revoked)
    }

    @Test func `another program recalls a system on the same network only, within its reach`() async throws {
        try await Self.with { store, own in
            let system = try KnownEndpointsTests.system(1)
            let memory = Self.memory(store, own)
            // Before the networks are known, nothing can be recorded.
            #expect(!memory.met(system, at: Self.endpoint))
            _ = await memory.recall(on: Self.networks, revoked: [])
            #expect(memory.met(system, at: Self.endpoint))
            #expect(!memory.met(system, at: Endpoint(host: "10.1.0.2", port: 4000)))
            await memory.save()
            let eth0 = KnownProcess(system: system, endpoints: [Self.endpoint])
            let eth1 = KnownProcess(system: system, endpoints: [Endpoint(host: "10.1.0.2", port: 4000)])
            #expect(
                await Self.recalled(store, own).flatMap(\.endpoints).map(\.host).sorted() == ["10.0.0.2", "10.1.0.2"]
            )
            #expect(await Self.recalled(store, own, reach: .interfaces(["eth0"])) == [eth0])
            #expect(await Self.recalled(store, own, reach: .interfaces(["eth1"])) == [eth1])
            #expect(await Self.recalled(store, own, reach: .machine) == [])
            #expect(await Self.recalled(store, own, on: Self.networks("02:02")) == [eth1])
            #expect(await Self.recalled(store, own, on: PresentNetworks([], gateways: [])) == [])
        }
    }

    @Test func `a network that appears is recalled once, and again when it has been away`() async throws {
        try await Self.with { store, own in
            let system = try KnownEndpointsTests.system(1)
            let memory = Self.memory(store, own)
            _ = await memory.recall(on: Self.networks, revoked: [])
            _ = memory.met(system, at: Self.endpoint)
            await memory.save()
            memory.restart()
            func count(_ networks: PresentNetworks) async -> Int {
                await memory.recall(on: networks, revoked: []).count
            }
            #expect(await count(Self.networks) == 1)
            #expect(await count(Self.networks) == 0)
            #expect(await count(Self.networks("02:02")) == 0)
            #expect(await count(Self.networks) == 1)
        }
    }

    @Test func `this system and endpoints on unknown networks or other transports are not recorded`() async throws {
        try await Self.with { store, own in
            let system = try KnownEndpointsTests.system(1)
            let memory = Self.memory(store, own)
            _ = await memory.recall(on: Self.networks, revoked: [])
            #expect(!memory.met(own, at: Self.endpoint))
            let relay = TransportKind(rawValue: "relay")
            #expect(!memory.met(system, at: Endpoint(transport: relay, host: "10.0.0.2", port: 1)))
            #expect(!memory.met(system, at: Endpoint(host: "fe80::1%eth7", port: 1)))
            await memory.save()
            #expect(try store.contents(of: .knownEndpoints) == nil)
        }
    }

    @Test func `a system that is met before the file was read is stored, and the same facts are not stored again`()
        async throws
    {
        try await Self.with { store, own in
            let system = try KnownEndpointsTests.system(1)
            let end = Date(timeIntervalSince1970: 2_000_000_000)
            // Each change replaces the file by another one.
            func fileNumber() throws -> String {
                let path = store.path(of: .knownEndpoints)
                let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber]
                return "\(try #require(number))"
            }
            let first = Self.memory(store, own)
            #expect(first.met(system, named: "den", certificateEnd: end))
            await first.save()
            let file = try #require(try store.contents(of: .knownEndpoints))
            let meeting = try #require(try KnownEndpoints(file: file).met[system])
            #expect(meeting.name == "den" && meeting.certificateEnd == 2_000_000_000)
            let number = try fileNumber()
            let second = Self.memory(store, own)
            #expect(second.met(system, named: "den", certificateEnd: end))
            await second.save()
            #expect(try fileNumber() == number)
            #expect(second.met(system, named: "attic", certificateEnd: end))
            await second.save()
            #expect(try fileNumber() != number)
        }
    }

    @Test func `a system that is met by its address is noted once`() async throws {
        try await Self.with { store, own in
            let (system, now) = (try KnownEndpointsTests.system(1), Date())
            func note(_ name: String, by other: SystemID? = nil) throws -> [UInt8]? {
                store.noteMeeting(with: system, named: name, certificateEnd: now, by: other ?? own, now: now)
                return try store.contents(of: .knownEndpoints)
            }
            // By a program of an account that was replaced meanwhile.
            #expect(try note("den", by: KnownEndpointsTests.system(2)) == nil)
            let first = try note("den")
            #expect(try KnownEndpoints.reading(first).met[system]?.name == "den")
            #expect(try note("den") == first)
            #expect(try KnownEndpoints.reading(note("attic")).met[system]?.name == "attic")
            // No system can describe itself with such a name.
            #expect(try KnownEndpoints.reading(note("a\nb")).met[system]?.name == "attic")
        }
    }

    @Test func `programs of one account add to the same file`() async throws {
        try await Self.with { store, own in
            let memories = [Self.memory(store, own), Self.memory(store, own)]
            for memory in memories { _ = await memory.recall(on: Self.networks, revoked: []) }
            for (number, memory) in memories.enumerated() {
                _ = memory.met(try KnownEndpointsTests.system(number), at: Self.endpoint)
            }
            for memory in memories { await memory.save() }
            #expect(await Self.recalled(store, own).count == 2)
        }
    }

    @Test func `a revoked system and a replaced endpoint are forgotten, in the file too`() async throws {
        try await Self.with { store, own in
            let (one, two) = (try KnownEndpointsTests.system(1), try KnownEndpointsTests.system(2))
            let memory = Self.memory(store, own)
            _ = await memory.recall(on: Self.networks, revoked: [])
            for system in [one, two] { _ = memory.met(system, at: Self.endpoint) }
            await memory.save()
            #expect(await Self.recalled(store, own, revoked: [one]).map(\.system) == [two])
            #expect(memory.forget([one]))
            #expect(!memory.forget([one]))
            await memory.save()
            #expect(await Self.recalled(store, own).map(\.system) == [two])
            #expect(memory.forget(two, at: [Self.endpoint]))
            await memory.save()
            #expect(await Self.recalled(store, own) == [])
        }
    }

    @Test func `a damaged file is ignored and replaced, and one of a newer version is left alone`() async throws {
        try await Self.with { store, own in
            let system = try KnownEndpointsTests.system(1)
            let newer = Array(#"{"version":2}"#.utf8)
            for (file, isReplaced) in [(Array("{".utf8), true), (newer, false)] {
                try store.update(.knownEndpoints, of: own) { _ in file }
                let memory = Self.memory(store, own)
                #expect(await memory.recall(on: Self.networks, revoked: []) == [])
                #expect(memory.met(system, at: Self.endpoint))
                await memory.save()
                #expect(await Self.recalled(store, own).count == (isReplaced ? 1 : 0))
                let present = try store.contents(of: .knownEndpoints)
                #expect((present == file) == !isReplaced)
            }
        }
    }

    @Test func `a memory that cannot be stored is stored with the next one, and nothing else fails`() async throws {
        try await Self.with { store, own in
            let path = "\(store.directory)/account/known-endpoints.json"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let memory = Self.memory(store, own)
            #expect(await memory.recall(on: Self.networks, revoked: []) == [])
            _ = memory.met(try KnownEndpointsTests.system(1), at: Self.endpoint)
            await memory.save()
            #expect(await Self.recalled(store, own) == [])
            try FileManager.default.removeItem(atPath: path)
            let isAsked = memory.met(try KnownEndpointsTests.system(2), at: Self.endpoint)
            #expect(isAsked)
            await memory.save()
            #expect(await Self.recalled(store, own).count == 2)
        }
    }

    @Test func `a system that was found revoked at a recall does not keep later ones from being stored`() async throws {
        try await Self.with { store, own in
            let (one, two) = (try KnownEndpointsTests.system(1), try KnownEndpointsTests.system(2))
            let memory = Self.memory(store, own)
            _ = await memory.recall(on: Self.networks, revoked: [])
            _ = memory.met(one, at: Self.endpoint)
            await memory.save()
            _ = await memory.recall(on: Self.networks, revoked: [one])
            #expect(memory.met(two, at: Self.endpoint))
            await memory.save()
            #expect(await Self.recalled(store, own).map(\.system) == [two])
        }
    }
}

/// A watcher that finds a system which an earlier one met, over loopback.
@Suite(.timeLimit(.minutes(2))) struct MeetingAgainTests {
    /// Two machines of one account. The second has met the host on the first.
    private static func afterMeeting(
        remembers: Bool = true,
        _ body: (TwoMachines, RemoteSystemHost) async throws -> Void
    ) async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let host = RemoteSystemHost(machines.configuration("first", application: "test.host"), services: [.ping])
            try await host.whileRunning {
                var configuration = machines.configuration("second", application: "test.watcher")
                configuration.discovery.remembersSystems = remembers
                let watcher = RemoteSystemWatcher(configuration)
                try await watcher.start()
                try await until { watcher.systems.count == 1 }
                await watcher.stop()
                try await until { host.openConnections == 0 }
                try await body(machines, host)
            }
        }
    }

    private static func hasFile(_ machines: TwoMachines) -> Bool {
        FileManager.default.fileExists(atPath: "\(machines.directory)/second/account/known-endpoints.json")
    }

    @Test func `a known system is listed without any announcement`() async throws {
        try await Self.afterMeeting { machines, host in
            #expect(Self.hasFile(machines))
            var configuration = machines.configuration("second", application: "test.watcher")
            configuration.discovery.sources = [ScriptedDiscovery()]
            let watcher = RemoteSystemWatcher(configuration)
            let events = EventRecorder(watcher)
            let start = ContinuousClock.now
            try await watcher.start()
            let system = try await events.added()
            print(
                "MEASURED a known system on loopback, from the watcher's start to added: \(ContinuousClock.now - start)"
            )
            #expect(system.isAvailableByProximity && !system.isLocal)
            #expect(host.openConnections == 1)
            #expect(watcher.statistics.connectionsOpened == 1)
            await watcher.stop()
        }
    }

    /// The first error of a watcher without discovery, before it lists a system or its enumeration is completed.
    private static func firstError(_ machines: TwoMachines) async throws -> RemoteSystemWatcherError? {
        var configuration = machines.configuration("second", application: "test.watcher")
        configuration.discovery.sources = [ScriptedDiscovery()]
        let watcher = RemoteSystemWatcher(configuration)
        let events = watcher.events
        try await watcher.start()
        var first: RemoteSystemWatcherError?
        for await event in events {
            if case .error(let error) = event { first = error }
            break
        }
        await watcher.stop()
        return first
    }

    @Test func `the refusal of a known system is reported without any announcement`() async throws {
        try await Self.afterMeeting { machines, _ in
            try machines.account("first").revoke(machines.account("second").identity().systemID)
            var refusal: RemoteSystemWatcherError?
            // The host reads the list of revoked systems a moment later, and accepts the system until then.
            for _ in 0..<100 where refusal == nil { refusal = try await Self.firstError(machines) }
            #expect(refusal?.code == .authenticationError)
            #expect(refusal?.message.contains("Your system was revoked") == true)
            #expect(refusal?.message.hasPrefix("The system at ") == true)
            #expect(refusal?.message.contains(" refuses this one: ") == true)
        }
    }

    @Test func `discovery takes over the connection to a known system, and the watcher sees no change`() async throws {
        try await Self.afterMeeting { machines, host in
            var configuration = machines.configuration("second", application: "test.watcher")
            let segment = ScriptedDiscovery()
            configuration.discovery.sources = [segment]
            let watcher = RemoteSystemWatcher(configuration)
            let events = EventRecorder(watcher)
            try await watcher.start()
            _ = try await events.added()
            for hint in machines.segment.hints { segment.appear(hint) }
            // Events are handled in order: when the error is reported, the hint has been handled.
            segment.emit(.trouble(Trouble.example))
            _ = try await events.first { if case .error = $0 { true } else { nil } }
            // A second connection would follow within this time; no event reports its absence.
            try await Task.sleep(for: .milliseconds(300))
            #expect(host.openConnections == 1)
            #expect(watcher.statistics.connectionsOpened == 1)
            for hint in machines.segment.hints { segment.vanish(hint.id) }
            // A removal would follow within this time; no event reports its absence.
            try await Task.sleep(for: .milliseconds(100))
            #expect(watcher.systems.count == 1)
            let changes = events.events.filter { event in
                switch event {
                case .enumerationCompleted, .error: false
                default: true
                }
            }
            #expect(changes.count == 1)
            await watcher.stop()
        }
    }

    /// Runs a host on the first machine, which listens at this port.
    private static func whileServing(
        _ machines: TwoMachines,
        at port: HeldPort,
        _ body: () async throws -> Void
    ) async throws {
        var options = RemoteSystemHost.Options()
        options.port = port.number
        let configuration = machines.configuration("first", application: "test.host")
        let host = RemoteSystemHost(configuration, services: [.ping], options: options)
        let running = Task { try await host.run() }
        let result: Result<Void, any Error>
        do {
            try await body()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        running.cancel()
        // A host that did not run is the cause of what did not happen.
        do { try await running.value } catch is CancellationError {}
        try result.get()
    }

    @Test(arguments: [DiscoveryProblem.Code.cacheLimit, .announcementFlood, .tooManyHints])
    func `a known system is tried again and again while discovery misses systems`(
        _ code: DiscoveryProblem.Code
    ) async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let port = try HeldPort()
            var configuration = machines.configuration("second", application: "test.watcher")
            try await Self.whileServing(machines, at: port) {
                let watcher = RemoteSystemWatcher(configuration)
                try await watcher.start()
                try await until { watcher.systems.count == 1 }
                await watcher.stop()
            }
            let segment = ScriptedDiscovery()
            configuration.discovery.sources = [segment]
            let watcher = RemoteSystemWatcher(configuration)
            let events = EventRecorder(watcher)
            try await watcher.start()
            // The known system was tried once, and is not there.
            _ = try await events.first { if case .enumerationCompleted = $0 { true } else { nil } }
            segment.emit(.trouble(Trouble.of(code)))
            _ = try await events.first { if case .error = $0 { true } else { nil } }
            #expect(watcher.systems.isEmpty)
            // Its announcement does not arrive.
            try await Self.whileServing(machines, at: port) { _ = try await events.added() }
            await watcher.stop()
        }
    }

    @Test func `a watcher that does not remember systems writes nothing and tries nothing`() async throws {
        try await Self.afterMeeting(remembers: false) { machines, host in
            #expect(!Self.hasFile(machines))
            _ = host
        }
        try await Self.afterMeeting { machines, host in
            var configuration = machines.configuration("second", application: "test.watcher")
            configuration.discovery.sources = [ScriptedDiscovery()]
            configuration.discovery.remembersSystems = false
            let watcher = RemoteSystemWatcher(configuration)
            let events = watcher.events
            try await watcher.start()
            for await event in events { if case .enumerationCompleted = event { break } }
            #expect(watcher.systems.isEmpty)
            #expect(watcher.statistics.connectionsOpened == 0)
            await watcher.stop()
        }
    }
}

private enum Trouble {
    static let example = Self.of(.nameNotResolved)

    static func of(_ code: DiscoveryProblem.Code) -> DiscoveryProblem {
        DiscoveryProblem(code: code, message: "Nothing.", advice: "Nothing.", recoversByItself: true)
    }
}
