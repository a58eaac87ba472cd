// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystems

extension Attacker {
    /// The number of programs that run at the same time.
    private static let programs = 64

    /// Runs a host daemon, and programs that register with it. New ones with other names replace them all the time.
    func changePrograms() async throws {
        let systems = PackedSystems(directory: setup.directory)
        let source = try FolderDiscovery(folder: "\(setup.directory)/\(AttackedSystem.folder)")
        var configuration = systems.configuration(Systems.member, source: source)
        configuration.applicationID = RemoteSystemHost.machineApplicationID
        var options = RemoteSystemHost.Options()
        options.installedApplications = NoApplications()
        let daemon = RemoteSystemHost(configuration, services: [], options: options)
        let running = Task { try await daemon.run() }
        var programs = CircularBuffer<Task<Void, any Error>>()
        defer {
            running.cancel()
            for program in programs { program.cancel() }
        }
        _ = try await daemon.port
        for number in 0... {
            try Task.checkCancellation()
            configuration.applicationID = "org.example.program\(number)"
            let program = RemoteSystemHost(
                configuration,
                services: [AppService("\(Ours.service).\(number)") { _ in [:] }]
            )
            programs.append(Task { try await program.run() })
            _ = try await program.port
            if programs.count > Self.programs { programs.removeFirst().cancel() }
        }
    }
}

/// No application is installed. With it, a host is a host daemon.
private struct NoApplications: InstalledApplications {
    func applications() async -> [InstalledApplication] { [] }

    func changes() -> AsyncStream<Void> { AsyncStream { _ in } }

    func start(_ id: String) async throws { throw BenchError("\(id) is not installed.") }

    func didNotComeUp(_ id: String) async {}
}
