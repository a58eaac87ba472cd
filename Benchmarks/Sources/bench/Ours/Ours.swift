// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystems
import ValueSets

/// RemoteSystems through its public API: one app service, with typed dictionaries in both directions.
struct Ours: DiscoveringContestant {
    enum Form: Sendable {
        /// The body of `AppServiceConnection.with` sends the messages.
        case scoped
        /// Tasks outside the scope of the connection send the messages.
        case fromPool
    }

    static let service = "org.remotesystems.benchmark"

    var form: Form

    func serve(_ setup: Setup) throws -> any Server {
        try OursServer(Self.configuration(setup))
    }

    func caller(_ setup: Setup) async throws -> any Caller {
        guard let port = Int(setup.address) else { throw BenchError("The host's port is not a number.") }
        let request = RemoteSystemConnectionRequest(
            host: "127.0.0.1",
            port: port,
            configuration: Self.configuration(setup)
        )
        return OursCaller(request: request, form: form)
    }

    /// Sets the number of event-loop threads to that of the other contestants. May be set only once per process.
    private static let oneEventLoop: Void = { NIOSingletons.groupLoopCountSuggestion = 1 }()

    /// The configuration of both sides. Their account is created in the directory of the run.
    static func configuration(_ setup: Setup) -> RemoteSystemsConfiguration {
        _ = oneEventLoop
        var configuration = RemoteSystemsConfiguration(
            applicationID: service,
            network: .loopback,
            stateDirectory: setup.directory
        )
        // A payload of 1 MiB and the dictionary around it.
        configuration.limits.messageBytes = 2 << 20
        return configuration
    }

    func startHost(_ setup: Setup) async throws -> any Stoppable {
        var options = RemoteSystemHost.Options()
        // Several processes of the same worker may run.
        options.allowsSeveralProcesses = true
        let host = RemoteSystemHost(
            Self.configuration(setup),
            services: [AppService(Self.service) { _ in [:] }],
            options: options
        )
        return OursHost(task: Task { try await host.run() })
    }

    func startWatcher(_ setup: Setup, added: @escaping @Sendable () -> Void) async throws -> any Stoppable {
        let watcher = RemoteSystemWatcher(Self.configuration(setup))
        watcher.onAdded { _ in added() }
        try await watcher.start()
        return OursWatcher(watcher: watcher)
    }
}

private struct OursServer: Server {
    let address: String

    init(_ configuration: RemoteSystemsConfiguration) throws {
        var options = RemoteSystemHost.Options()
        options.isDiscoverable = false
        options.allowsSeveralProcesses = true
        let service = AppService(Ours.service, requestSchema: .full, responseSchema: .full) { request in
            request.message["IsEcho"] == true ? request.message : [:]
        }
        let host = RemoteSystemHost(configuration, services: [service], options: options)
        address = try blocking {
            Task { try await host.run() }
            return String(try await host.port)
        }
    }
}

private struct OursHost: Stoppable {
    let task: Task<Void, any Error>

    func stop() async throws {
        task.cancel()
        try await task.value
    }
}

private struct OursWatcher: Stoppable {
    let watcher: RemoteSystemWatcher

    func stop() async throws {
        await watcher.stop()
    }
}
