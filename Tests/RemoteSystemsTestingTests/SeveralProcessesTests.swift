// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing

/// Staged systems follow the rule of real ones: one process for each application id, unless all of them share it.
@Suite struct SeveralProcessesTests {
    @Test func `a system with two applications of one id is refused, unless both share it`() async throws {
        try await DiscoveryStage.with { stage in
            for (first, second) in [(false, false), (true, false), (false, true)] {
                let error = #expect(throws: RemoteSystemError.self) {
                    _ = try stage.system(
                        "Speaker",
                        applications: [
                            StagedApplication("test.one", allowsSeveralProcesses: first),
                            StagedApplication("test.one", allowsSeveralProcesses: second),
                        ]
                    )
                }
                #expect(error?.code == .applicationAlreadyRunning)
            }
            let shared = try stage.system(
                "Speaker",
                applications: [
                    StagedApplication("test.one", allowsSeveralProcesses: true),
                    StagedApplication("test.one", allowsSeveralProcesses: true),
                    StagedApplication("test.two"),
                ]
            )
            try await stage.appears(shared)
            let watcher = stage.watcher()
            try await watcher.start()
            try await stage.settle()
            #expect(watcher.systems.first?.applications.map(\.id) == ["test.one", "test.two"])
        }
    }

    @Test func `the code under test cannot run two hosts under one id either`() async throws {
        try await DiscoveryStage.with { stage in
            let first = RemoteSystemHost(stage.configuration, services: [])
            let running = Task(executorPreference: stage.taskExecutor) { try await first.run() }
            _ = try await first.port
            let second = RemoteSystemHost(stage.configuration, services: [])
            let error = await #expect(throws: RemoteSystemError.self) { try await second.run() }
            #expect(error?.code == .applicationAlreadyRunning)
            running.cancel()
            _ = await running.result
            let third = RemoteSystemHost(stage.configuration, services: [])
            let again = Task(executorPreference: stage.taskExecutor) { try await third.run() }
            _ = try await third.port
            again.cancel()
            _ = await again.result
        }
    }

    @Test(arguments: [StagedSystem.Departure.orderly, .crash])
    func `a system that left can return with the same application id`(departure: StagedSystem.Departure)
        async throws
    {
        try await DiscoveryStage.with { stage in
            let speaker = try stage.system("Speaker")
            for _ in 0..<2 {
                try await stage.appears(speaker)
                let port = try await speaker.port()
                #expect(port > 0)
                try await stage.vanishes(speaker, departure)
            }
        }
    }
}
