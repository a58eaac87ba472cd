// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import RemoteSystems
import RemoteSystemsTesting
import Testing

/// The shortest path: a host, a watcher that finds it, a connection, a message.
@Suite struct WatchAndTalkTests {
    static let echo = AppService("test.echo") { ["echo": .dictionary($0.message)] }

    @Test func `a host is added, responds, and is removed (R-03, R-06, R-08, R-10, R-13, R-40)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            try await loopbackSystem.withHost([Self.echo]) { _ in
                let system = try await recorder.added()
                #expect(system.status == .available)
                #expect(system.isLocal)
                #expect(system.platform == .linux)
                let application = try #require(system.application("test.host"))
                #expect(application.services.map(\.name) == ["test.echo"])
                let response = try await application.withAppService("test.echo") { connection in
                    try await connection.send(["Type": "ping"]).get()
                }
                #expect(response == ["echo": ["Type": "ping"]])
            }
            _ = try await recorder.removed()
            await watcher.stop()
        }
    }

    @Test func `a host of the code under test is found on its stage like any other`() async throws {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            let recorder = stage.record(watcher)
            try await watcher.start()
            let host = RemoteSystemHost(stage.configuration(applicationID: "test.mine"), services: [Self.echo])
            async let running: Void = host.run()
            let system = try await recorder.added()
            #expect(system.isLocal)
            #expect(system.applications.map(\.id) == ["test.mine"])
            try await host.update(attributes: ["room": "attic"])
            let updated = try await recorder.updated()
            #expect(updated.application("test.mine")?.attributes == ["room": "attic"])
            await watcher.stop()
            await stage.stop()
            _ = try? await running
        }
    }

    @Test func `a host that moves to another port is updated once, and later callers find it there (X-34)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            let recorder = stage.record(watcher)
            try await watcher.start()
            let host = RemoteSystemHost(stage.configuration(applicationID: "test.mine"), services: [Self.echo])
            async let running: Void = host.run()
            let name = try await recorder.added().displayName
            let application = try #require(watcher.systems.first?.application("test.mine"))
            let early = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            #expect(try await early.open(.application(application)) == .success)

            for port in [4711, 4712] { try await host.update(port: port) }
            // Longer than watchers may take to notice.
            try await stage.advance(by: .seconds(30))
            let story = recorder.story.filter { $0 != "enumeration completed" }
            #expect(story == ["added \(name)", "updated \(name)"])
            #expect(try await early.send([:]).get() == ["echo": [:]])
            await early.close()
            let moved = try #require(watcher.systems.first?.application("test.mine"))
            let late = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            #expect(try await late.open(.application(moved)) == .success)
            await late.close()
            await watcher.stop()
            await stage.stop()
            _ = try? await running
        }
    }

    static let excessive: [[String: String]] = [
        Dictionary((0...256).map { ("\($0)", "") }) { $1 },
        ["long": String(repeating: "é", count: 513)], [String(repeating: "é", count: 513): "long"],
    ]

    @Test(arguments: excessive)
    func `attributes that watchers would omit are refused where they are set`(
        _ attributes: [String: String]
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Self.echo]) { host in
                let error = await #expect(throws: RemoteSystemError.self) {
                    try await host.update(attributes: attributes)
                }
                #expect(error?.code == .misuse)
            }
            var options = RemoteSystemHost.Options()
            options.attributes = attributes
            let host = RemoteSystemHost(loopbackSystem.configuration("test.host"), services: [], options: options)
            let error = await #expect(throws: RemoteSystemError.self) { try await host.run() }
            #expect(error?.code == .misuse)
        }
    }

    @Test func `two processes of one machine are one system with two applications`() async throws {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            try await watcher.start()
            let applications = ["test.two", "test.one"].map { StagedApplication($0, services: [Self.echo]) }
            try await stage.appears(try stage.system("Box", applications: applications))
            let system = try #require(watcher.systems.first)
            #expect(watcher.systems.count == 1)
            #expect(system.applications.map(\.id) == ["test.one", "test.two"])
        }
    }

    @Test func `the body of withAppService stays on one thread`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Self.echo]) { host in
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                try await AppServiceConnection.with(AppServiceDescription(name: "test.echo"), request) { connection in
                    // The body starts on its caller's thread and hops at its first suspension. A response that is
                    // available at once causes none.
                    for _ in 0..<3 { _ = try await connection.send([:]) }
                    let thread = pthread_self()
                    for _ in 0..<20 {
                        _ = try await connection.send([:])
                        #expect(thread == pthread_self())
                    }
                }
            }
        }
    }

    @Test func `a host with a service name that is taken or too long does not start`() async throws {
        let stage = DiscoveryStage()
        for name in ["remote-systems.presence", "", String(repeating: "x", count: 257)] {
            let host = RemoteSystemHost(stage.configuration, services: [AppService(name) { $0.message }])
            let error = await #expect(throws: RemoteSystemError.self) { try await host.run() }
            #expect(error?.code == .invalidArgument)
        }
        await stage.stop()
    }

    @Test
    func `a stopped watcher reports nothing, and a restarted one reports every system again (R-11, R-12)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            let recorder = stage.record(watcher)
            let box = try stage.system("Box", services: [Self.echo])
            try await stage.appears(box)
            try await watcher.start()
            try await recorder.added("Box")
            await watcher.stop()
            #expect(watcher.systems.isEmpty)
            let before = recorder.events.count
            try await stage.vanishes(box)
            try await stage.appears(box)
            #expect(recorder.events.count == before)
            try await watcher.start()
            try await recorder.added("Box")
            await watcher.stop()
        }
    }
}
