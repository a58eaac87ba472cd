// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import RemoteSystems
import ServiceLifecycle

/// A temporary account whose processes all run here, over loopback, and find each other on a scripted segment.
struct LoopbackSystem {
    let directory: String
    var segment = ScriptedDiscovery()
    /// The logger of its processes; nil for the default.
    var logger: Logger?
    /// The interceptors of all its processes.
    var interceptors = AppServiceInterceptors()

    static func with(_ body: (LoopbackSystem) async throws -> Void) async throws {
        let loopbackSystem = LoopbackSystem(
            directory: FileManager.default.temporaryDirectory.appending(path: "household-\(UUID())").path
        )
        defer { try? FileManager.default.removeItem(atPath: loopbackSystem.directory) }
        try await body(loopbackSystem)
    }

    func configuration(_ application: String) -> RemoteSystemsConfiguration {
        var configuration = RemoteSystemsConfiguration(
            applicationID: application,
            network: .loopback,
            discovery: [self.segment],
            stateDirectory: self.directory
        )
        // Handshakes take long in debug builds on busy machines.
        configuration.transport.helloTimeout = .seconds(10)
        configuration.transport.connectTimeout = .seconds(10)
        configuration.interceptors = self.interceptors
        if let logger { configuration.logger = logger }
        return configuration
    }

    /// Runs a host while `body` runs, and shuts it down gracefully afterwards.
    func withHost(
        _ services: [AppService],
        application: String = "test.host",
        attributes: [String: String] = [:],
        launchURIProvider: (any LaunchURIProvider)? = nil,
        installed: (any InstalledApplications)? = nil,
        _ body: (RemoteSystemHost) async throws -> Void
    ) async throws {
        var options = RemoteSystemHost.Options()
        options.attributes = attributes
        options.launchURIProvider = launchURIProvider
        options.installedApplications = installed
        let host = RemoteSystemHost(self.configuration(application), services: services, options: options)
        let group = ServiceGroup(
            services: [host],
            logger: Logger(label: "household") { _ in SwiftLogNoOpLogHandler() }
        )
        let running = Task { try await group.run() }
        do {
            try await body(host)
        } catch {
            running.cancel()
            _ = await running.result
            throw error
        }
        // A service group that does not run yet would treat this as its end.
        _ = try? await host.port
        await group.triggerGracefulShutdown()
        try await running.value
    }

    func watcher(filters: [RemoteSystemFilter] = []) -> RemoteSystemWatcher {
        RemoteSystemWatcher(self.configuration("test.watcher"), filters: filters)
    }
}

extension RemoteSystemHost {
    /// Runs the host while `body` runs, which begins when the host listens.
    ///
    /// - Parameter expectsSuccess: whether an error with which the host ends is thrown. Defaults to `false`.
    @discardableResult
    func whileRunning<Output>(
        expectsSuccess: Bool = false,
        _ body: () async throws -> Output
    ) async throws -> Output {
        let running = Task { try await self.run() }
        do {
            _ = try await self.port
            let output = try await body()
            running.cancel()
            let end = await running.result
            if expectsSuccess { try end.get() }
            return output
        } catch {
            running.cancel()
            _ = await running.result
            throw error
        }
    }
}
