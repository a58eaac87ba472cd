// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring
import NIOCore
import RemoteSystems
import ValueSets

/// RemoteSystems through its public API: one app service, and typed dictionaries both ways.
struct Ours: DiscoveringContestant {
    enum Form: Sendable {
        /// Messages are sent by code that runs on the connection's executor, as the body of `withAppService` does.
        case onConnection
        /// Messages are sent by ordinary tasks.
        case fromPool
    }

    static let service = "org.remotesystems.benchmark"

    var form: Form

    func serve(_ setup: Setup) throws -> any Server {
        try OursServer(Self.configuration(setup))
    }

    func caller(_ setup: Setup) async throws -> any Caller {
        guard let port = Int(setup.address) else { throw BenchError("The host's port is no number.") }
        let request = RemoteSystemConnectionRequest(
            host: "127.0.0.1",
            port: port,
            configuration: Self.configuration(setup)
        )
        return OursCaller(request: request, form: form)
    }

    /// As many event-loop threads as the peers have; may be set only once in a process.
    private static let oneEventLoop: Void = { NIOSingletons.groupLoopCountSuggestion = 1 }()

    /// Both sides are of one account, which is made in the run's own directory.
    private static func configuration(_ setup: Setup) -> RemoteSystemsConfiguration {
        _ = oneEventLoop
        var configuration = RemoteSystemsConfiguration(
            applicationID: service,
            network: .loopback,
            stateDirectory: setup.directory
        )
        // A payload of 1 MiB and the dictionary around it.
        configuration.messageLimit = 2 << 20
        return configuration
    }

    func startHost(_ setup: Setup) async throws -> any Stoppable {
        let host = RemoteSystemHost(Self.configuration(setup), services: [AppService(Self.service) { _ in [:] }])
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
        let service = AppService(Ours.service, schema: .full, responseSchema: .full) { request in
            request.message["IsEcho"] == true ? request.message : [:]
        }
        let host = RemoteSystemHost(configuration, services: [service], options: options)
        address = try blocking {
            Task { try await host.run() }
            return String(try await host.port)
        }
    }
}

private struct OursCaller: Caller {
    let request: RemoteSystemConnectionRequest
    let form: Ours.Form

    func open() async throws -> any Line {
        let connection = AppServiceConnection(to: AppServiceDescription(name: Ours.service, schema: .full))
        guard try await connection.open(request) == .success else {
            throw await connection.openError ?? BenchError("The connection was not opened, for no reason.")
        }
        let line = OursLine(connection: connection, form: form)
        _ = try await line.exchange(.roundTrip, until: Limit(count: 1, seconds: 10))
        return line
    }
}

private struct OursLine: RoundTripLine {
    let connection: AppServiceConnection
    let form: Ours.Form

    func message(for load: Load) -> ValueSet {
        [
            "IsEcho": .bool(load.answer == .echo),
            "Payload": .data(Data(repeating: 0x5a, count: load.bytes)),
        ]
    }

    func roundTrip(_ message: ValueSet, load: Load) async throws {
        let answer = try await connection.send(message).get()
        guard answer["Payload"]?.data?.count == (load.answer == .echo ? load.bytes : nil) else {
            throw BenchError("The answer is not the one that was asked for.")
        }
    }

    func atHome<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        switch form {
        case .onConnection: try await connection.here(body)
        case .fromPool: try await body()
        }
    }

    func close() async {
        await connection.close()
    }
}

extension AppServiceConnection {
    /// Runs the body on the connection's executor.
    fileprivate func here<Result: Sendable>(_ body: @Sendable () async throws -> Result) async rethrows -> Result {
        try await body()
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
