// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import RemoteSystems

/// How long callers wait for an application that is started for them. The start takes 24 s here, and the host daemon
/// allows a minute. The caller's own start timeout is the default 15 s.
@Suite(.timeLimit(.minutes(1))) struct StartDeadlineTests {
    /// The outcome for a caller of the application, on a stage whose clock advances by 30 s meanwhile.
    private func outcome<Outcome: Sendable>(
        of call: @escaping @Sendable (RemoteSystemApplication) async throws -> Outcome
    ) async throws -> Outcome {
        let directory = FileManager.default.temporaryDirectory.appending(path: "start-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        return try await DiscoveryStage.with { stage in
            @Sendable func configuration(_ application: String) -> RemoteSystemsConfiguration {
                var configuration = stage.configuration(applicationID: application)
                // A host daemon needs a state directory.
                configuration.environment.identity = nil
                configuration.stateDirectory = directory
                return configuration
            }
            let hosts = Mutex<[Task<Void, any Error>]>([])
            @Sendable func run(_ host: RemoteSystemHost) {
                let running = Task(executorPreference: stage.taskExecutor) { try await host.run(isStaged: true) }
                hosts.withLock { $0.append(running) }
            }
            defer { for host in hosts.withLock({ $0 }) { host.cancel() } }
            var options = RemoteSystemHost.Options()
            options.launchURIProvider = LaunchURIHandler(schemes: ["player"]) { _ in .opened }
            let player = RemoteSystemHost(
                configuration("test.player"),
                services: [WatchAndTalkTests.echo],
                options: options
            )
            let machine = Mutex<RemoteSystemHost?>(nil)
            options = RemoteSystemHost.Options()
            options.startTimeout = .seconds(60)
            options.installedApplications = InstalledApplicationsTests.Installation(
                [InstalledApplicationsTests.player()]
            ) { _ in
                // By the stage's clock, not in real time.
                try await stage.clock.sleep(for: .seconds(24))
                run(player)
                // Hosts of a stage have no Unix socket to register at.
                let programs = machine.withLock { $0 }?.core.referral?.running.registered
                guard let programs, let number = programs.enter("test.player", ProgramProcess(pid: 7)) else { return }
                _ = programs.describe(number, SystemDescription.Application(id: "test.player", displayName: "Player"))
                programs.register(
                    number,
                    Registry.Registration(port: try await player.port, isOnLoopback: false, epoch: 1, network: "all")
                )
            }
            let host = RemoteSystemHost(configuration("test.machine"), services: [], options: options)
            machine.withLock { $0 = host }
            run(host)
            let watcher = RemoteSystemWatcher(configuration("test.caller"))
            try await watcher.start()
            try await stage.settle()
            let application = try #require(watcher.systems.first?.application("test.player"))
            #expect(!application.isRunning)
            let outcome = Mutex<Result<Outcome, any Error>?>(nil)
            let calling = Task(executorPreference: stage.taskExecutor) {
                let result: Result<Outcome, any Error>
                do { result = .success(try await call(application)) } catch { result = .failure(error) }
                outcome.withLock { $0 = result }
            }
            try await stage.advance(by: .seconds(30))
            calling.cancel()
            await watcher.stop()
            return try #require(outcome.withLock { $0 }).get()
        }
    }

    @Test func `a message with a timeout of a minute waits for an application that starts in 24 s (X-24, R-26)`()
        async throws
    {
        let response = try await self.outcome {
            try await AppServiceConnection.sendStateless(
                ["a": 1],
                to: AppServiceDescription(name: "test.echo"),
                request: RemoteSystemConnectionRequest(application: $0),
                timeout: .seconds(60)
            )
        }
        #expect(response.status == .success, "\(response.error?.message ?? "")")
        #expect(response.message == ["echo": ["a": 1]])
    }

    @Test func `a launch with a timeout of a minute waits for it, too (R-17)`() async throws {
        let result = try await self.outcome {
            try await RemoteLauncher().launchURI("player:album", with: .application($0), timeout: .seconds(60))
        }
        #expect(result.status == .success, "\(result.error?.message ?? "")")
    }

    @Test func `a connection waits as long as the configuration allows`() async throws {
        let status = try await self.outcome {
            try await AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
                .open(RemoteSystemConnectionRequest(application: $0))
        }
        #expect(status == .remoteSystemUnavailable)
    }
}
