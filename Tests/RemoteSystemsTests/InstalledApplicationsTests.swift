// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// A host that represents its machine, with applications that start in this process.
@Suite(.timeLimit(.minutes(1))) struct InstalledApplicationsTests {
    /// The installed applications, as defined by a test.
    final class Installation: InstalledApplications {
        private let installed: [InstalledApplication]
        private let onStart: @Sendable (String) async throws -> Void
        let starts = Mutex<[String]>([])
        let late = Mutex<[String]>([])

        init(_ installed: [InstalledApplication], start: @escaping @Sendable (String) async throws -> Void) {
            self.installed = installed
            self.onStart = start
        }

        func applications() async -> [InstalledApplication] { self.installed }
        func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }

        func start(_ id: String) async throws {
            self.starts.withLock { $0.append(id) }
            try await self.onStart(id)
        }

        func didNotComeUp(_ id: String) async { self.late.withLock { $0.append(id) } }
    }

    static func player(supportsRemote: Bool = true, callers: AppServiceCallers = .account) -> InstalledApplication {
        var player = InstalledApplication(id: "test.player", displayName: "Player")
        var service = InstalledApplication.Service("test.echo")
        service.supportsRemote = supportsRemote
        service.callers = callers
        player.services = [service]
        player.uriSchemes = ["player"]
        return player
    }

    /// Runs a machine's host while `body` runs.
    private func withMachine(
        _ loopbackSystem: LoopbackSystem,
        _ installation: Installation,
        startTimeout: Duration = .seconds(10),
        _ body: (RemoteSystemHost) async throws -> Void
    ) async throws {
        var options = RemoteSystemHost.Options()
        options.installedApplications = installation
        options.startTimeout = startTimeout
        let host = RemoteSystemHost(loopbackSystem.configuration("test.machine"), services: [], options: options)
        try await host.whileRunning { try await body(host) }
    }

    private func call(_ loopbackSystem: LoopbackSystem, port: Int, targetApplication: String? = "test.player")
        async throws
        -> (AppServiceConnectionStatus, RemoteSystemError?)
    {
        let connection = AppServiceConnection(
            to: AppServiceDescription(name: "test.echo", applicationID: targetApplication)
        )
        let status = try await connection.open(
            RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: port,
                configuration: loopbackSystem.configuration("test.caller")
            )
        )
        if status == .success {
            let response = try await connection.send(["a": 1]).get()
            #expect(response == ["echo": ["a": 1]])
            await connection.close()
        }
        return (status, connection.openError)
    }

    /// Finds the machine at a port, with a running application. `find` omits an application that does not respond
    /// within two seconds, which happens when the test machine is suspended, so this retries.
    private func find(
        _ applications: String...,
        on loopbackSystem: LoopbackSystem,
        port: Int
    ) async throws -> RemoteSystem {
        func ask() async throws -> RemoteSystem {
            try await RemoteSystem.find(
                host: "127.0.0.1",
                port: port,
                configuration: loopbackSystem.configuration("test.caller")
            )
        }
        var system = try await ask()
        // A program listens a moment before it has registered with the host daemon.
        for _ in 0..<100 where applications.contains(where: { system.application($0)?.isRunning != true }) {
            try await Task.sleep(for: .milliseconds(50))
            system = try await ask()
        }
        return system
    }

    @Test
    func `an application is listed before it runs, started once for all callers, and then runs (R-20, R-26, X-34)`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let applications = Mutex<[Task<Void, any Error>]>([])
            let configuration = loopbackSystem.configuration("test.player")
            let installation = Installation([Self.player()]) { _ in
                let host = RemoteSystemHost(configuration, services: [WatchAndTalkTests.echo])
                applications.withLock { $0.append(Task { try await host.run() }) }
            }
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            try await self.withMachine(loopbackSystem, installation) { host in
                let system = try await recorder.added()
                let listed = try #require(system.application("test.player"))
                #expect(!listed.isRunning)
                #expect(listed.displayName == "Player")
                #expect(listed.services.map(\.name) == ["test.echo"])
                #expect(listed.uriSchemes == ["player"])
                #expect(installation.starts.withLock { $0.isEmpty })

                let port = try await host.port
                try await withThrowingTaskGroup(of: AppServiceConnectionStatus.self) { group in
                    for targetApplication in ["test.player", nil, "test.player"] {
                        group.addTask {
                            try await self.call(loopbackSystem, port: port, targetApplication: targetApplication).0
                        }
                    }
                    for try await status in group { #expect(status == .success) }
                }
                #expect(installation.starts.withLock { $0 } == ["test.player"])

                let running = try await recorder.first { event -> RemoteSystem? in
                    guard case .updated(let system) = event else { return nil }
                    return system.application("test.player")?.isRunning == true ? system : nil
                }
                #expect(running.applications.map(\.id) == ["test.machine", "test.player"])
                #expect(watcher.systems.count == 1)
                // Also found through the list, without another start.
                let response = try await listed.withAppService("test.echo") { try await $0.send([:]).get() }
                #expect(response == ["echo": [:]])
                #expect(installation.starts.withLock { $0.count } == 1)
            }
            for application in applications.withLock({ $0 }) {
                application.cancel()
                _ = await application.result
            }
            await watcher.stop()
        }
    }

    @Test func `an application that does not start is reported at once, with the reason (X-21: 2)`() async throws {
        struct Broken: Error, CustomStringConvertible { var description: String { "its disk is full." } }
        try await LoopbackSystem.with { loopbackSystem in
            let installation = Installation([Self.player()]) { _ in throw Broken() }
            try await self.withMachine(loopbackSystem, installation) { host in
                let port = try await host.port
                let began = ContinuousClock.now
                for _ in 0..<2 {
                    let (status, error) = try await self.call(loopbackSystem, port: port)
                    #expect(status == .appUnavailable)
                    #expect(error?.message.contains("its disk is full.") == true)
                    #expect(error?.canRetry == true)
                    #expect(error?.side == .remote)
                }
                // The second call arrives before the failure expires, unless the test machine was suspended for as
                // long.
                let most = 1 + Int((ContinuousClock.now - began) / ApplicationStarter.pause)
                #expect((1...most).contains(installation.starts.withLock { $0.count }))
                #expect(installation.late.withLock { $0 } == [])
            }
        }
    }

    @Test func `an application that never registers fails at the deadline, and its callers get the reason (R-26)`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let installation = Installation([Self.player()]) { _ in }
            try await self.withMachine(loopbackSystem, installation, startTimeout: .milliseconds(200)) { host in
                let (status, error) = try await self.call(loopbackSystem, port: try await host.port)
                #expect(status == .appUnavailable)
                #expect(error?.message.contains("did not come up within") == true)
                #expect(installation.late.withLock { $0 } == ["test.player"])
            }
        }
    }

    @Test func `unknown applications and services that they do not offer are refused without a start`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var other = Self.player()
            other.services = []
            let installation = Installation([other]) { _ in }
            try await self.withMachine(loopbackSystem, installation) { host in
                let port = try await host.port
                let found11 = try await self.call(loopbackSystem, port: port).0
                #expect(found11 == .appServiceUnavailable)
                let found12 = try await self.call(loopbackSystem, port: port, targetApplication: "test.nothing").0
                #expect(found12 == .appNotInstalled)
                let found13 = try await self.call(loopbackSystem, port: port, targetApplication: nil).0
                #expect(found13 == .appServiceUnavailable)
                #expect(installation.starts.withLock { $0.isEmpty })
            }
        }
    }

    @Test func `callers are also referred to a running application that is not installed`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await self.withMachine(loopbackSystem, Installation([]) { _ in }) { host in
                let port = try await host.port
                try await loopbackSystem.withHost([WatchAndTalkTests.echo], application: "test.player") { player in
                    _ = try await player.port
                    let found14 = try await self.call(loopbackSystem, port: port).0
                    #expect(found14 == .success)
                }
            }
        }
    }

    @Test func `a watcher lists an unadvertised application from its start to its end (R-19, R-20)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            try await self.withMachine(loopbackSystem, Installation([Self.player()]) { _ in }) { _ in
                _ = try await recorder.added()
                var options = RemoteSystemHost.Options()
                options.isDiscoverable = false
                options.attributes = ["room": "attic"]
                let host = RemoteSystemHost(
                    loopbackSystem.configuration("test.quiet"),
                    services: [WatchAndTalkTests.echo],
                    options: options
                )
                let running = Task { try await host.run() }
                let quiet = try await recorder.first { event -> RemoteSystemApplication? in
                    guard case .updated(let system) = event else { return nil }
                    return system.application("test.quiet")
                }
                #expect(quiet.isRunning)
                #expect(quiet.attributes == ["room": "attic"])
                let response = try await quiet.withAppService("test.echo") { try await $0.send(["n": 1]).get() }
                #expect(response == ["echo": ["n": 1]])
                // The change is pushed, as for an advertised application.
                try await host.update(attributes: ["room": "cellar"])
                try await until { watcher.systems.first?.application("test.quiet")?.attributes == ["room": "cellar"] }
                running.cancel()
                _ = await running.result
                try await until { watcher.systems.first.map { $0.application("test.quiet") == nil } ?? false }
                #expect(watcher.systems.first?.application("test.player")?.isRunning == false)
            }
            await watcher.stop()
        }
    }

    @Test func `by the machine's address, running applications are listed as running, installed or not (R-19, R-20)`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let idle = InstalledApplication(id: "test.idle", displayName: "Idle")
            let ill = InstalledApplication(id: "test.ill", displayName: "Ill")
            let installation = Installation([Self.player(), idle, ill]) { _ in }
            try await self.withMachine(loopbackSystem, installation) { host in
                let port = try await host.port
                // These are named as running, but nothing responds on their port.
                host.core.referral?.running.registered?.expect(
                    ["test.ill", "test.ghost"].map { RunningApplication(application: $0, port: 1, pid: 7) }
                )
                await host.core.publishPrograms()
                try await loopbackSystem.withHost([WatchAndTalkTests.echo], application: "test.player") { player in
                    _ = try await player.port
                    try await loopbackSystem.withHost(
                        [AppService("test.own") { $0.message }],
                        application: "test.embedded",
                        attributes: ["room": "attic"]
                    ) { embedded in
                        _ = try await embedded.port
                        let system = try await self.find("test.embedded", "test.player", on: loopbackSystem, port: port)
                        let reported = system.applications.map { "\($0.id) \($0.isRunning)" }
                        #expect(
                            reported == [
                                "test.embedded true", "test.idle false", "test.ill true", "test.machine true",
                                "test.player true",
                            ]
                        )
                        #expect(system.application("test.ill")?.displayName == "Ill")
                        let application = try #require(system.application("test.embedded"))
                        #expect(application.attributes == ["room": "attic"])
                        let response = try await application.withAppService("test.own") {
                            try await $0.send(["n": 1]).get()
                        }
                        #expect(response == ["n": 1])
                        let connection = AppServiceConnection(to: AppServiceDescription(name: "test.own"))
                        let status = try await connection.open(RemoteSystemConnectionRequest(system: system))
                        #expect(status == .success)
                        await connection.close()
                    }
                }
                #expect(installation.starts.withLock { $0.isEmpty })
            }
        }
    }

    @Test func `by the machine's address, a running application that is not installed is launched (R-17, R-18)`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            var options = RemoteSystemHost.Options()
            options.launchURIProvider = LaunchURIHandler(schemes: ["attic"]) { _ in .opened }
            let embedded = RemoteSystemHost(
                loopbackSystem.configuration("test.embedded"),
                services: [],
                options: options
            )
            let running = Task { try await embedded.run() }
            _ = try await embedded.port
            try await self.withMachine(loopbackSystem, Installation([]) { _ in }) { host in
                let system = try await self.find("test.embedded", on: loopbackSystem, port: try await host.port)
                let result = try await RemoteLauncher().launchURI("attic:light", with: .system(system))
                #expect(result.status == .success)
                #expect(result.applicationID == "test.embedded")
            }
            running.cancel()
            _ = await running.result
        }
    }

    @Test func `a description contains no more running applications than a reader accepts`() throws {
        var description = SystemDescription(
            displayName: "atlas",
            kind: .desktop,
            platform: .unknown,
            isAuthority: false,
            application: SystemDescription.Application(id: "test.machine", displayName: "Machine")
        )
        description.running = (1000..<1300).map { "test.\($0)" }
        let read = try #require(SystemDescription(description.records.records))
        #expect(read.running == Array(description.running.prefix(SystemDescription.maxRunning)))
        description.running = [String(repeating: "x", count: 257), "test.good"]
        #expect(SystemDescription(description.records.records)?.running == ["test.good"])
    }

    // MARK: Callers that may start it

    private func hello(_ service: String, from caller: String = "test.caller") -> Hello {
        Hello(
            service: service,
            targetApplication: "test.player",
            application: caller,
            limits: PeerLimits(messageBytes: 1024, window: 1, windowBytes: 1024)
        )
    }

    private func refusal(of application: InstalledApplication, to hello: Hello, isLocal: Bool) throws -> Refusal? {
        let account = try #require(AuthorisationTests.account)
        let subject = try AuthorisationTests.subject(
            .sameAccount(account),
            isLocal: isLocal,
            application: hello.application
        )
        let authorisation = Authorisation(host: "test.host", allowsAnyoneNearby: false)
        let target = application.target(of: hello)
        guard case .refused(let reason) = authorisation.decide(subject, target) else { return nil }
        return authorisation.refusal(of: subject, target, for: reason)
    }

    @Test func `a service is for its own machine unless it declares otherwise (R-28)`() throws {
        let local = Self.player(supportsRemote: false)
        #expect(InstalledApplication.Service("test.echo").supportsRemote == false)
        let refusal = try self.refusal(of: local, to: self.hello("test.echo"), isLocal: false)
        #expect(refusal?.status == .remoteSystemNotSupportedByApp)
        #expect(try self.refusal(of: local, to: self.hello("test.echo"), isLocal: true) == nil)
        #expect(try self.refusal(of: Self.player(), to: self.hello("test.echo"), isLocal: false) == nil)
        // Other machines do not see it in the description.
        #expect(local.description(isLocal: false).services.isEmpty)
        #expect(local.description(isLocal: true).services.count == 1)
    }

    @Test(arguments: [
        (AppServiceCallers.account, "anybody", true), (.sameApplication, "test.player", true),
        (.sameApplication, "test.other", false), (.applications(["test.remote"]), "test.remote", true),
        (.applications(["test.remote"]), "test.player", false),
    ])
    func `an application is started only for allowed callers`(
        callers: AppServiceCallers,
        caller: String,
        isAllowed: Bool
    ) throws {
        let player = Self.player(callers: callers)
        let refusal = try self.refusal(of: player, to: self.hello("test.echo", from: caller), isLocal: false)
        #expect((refusal == nil) == isAllowed)
        #expect(refusal?.status ?? .remoteSystemNotSupportedByApp == .remoteSystemNotSupportedByApp)
    }

    @Test func `a launch starts an application that opens URIs, and no other`() throws {
        var player = Self.player()
        let hello = self.hello("remote-systems.launch")
        #expect(try self.refusal(of: player, to: hello, isLocal: false) == nil)
        player.uriSchemes = []
        #expect(
            try self.refusal(of: player, to: hello, isLocal: false)?.status == .appServiceUnavailable
        )
    }
}
