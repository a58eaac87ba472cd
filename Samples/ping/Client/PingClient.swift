// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Logging
import RemoteSystems

/// Finds the ping service, opens a connection to it, exchanges pings, and prints what `ping` prints (R-42).
@main
struct PingClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping-client",
        abstract: "Pings the ping service of a system of the same account.",
        discussion: """
            Exits with 0 when every message was answered, 1 when one was lost, 2 when the service was not found or could \
            not be reached or the output cannot be written, 64 when the arguments make no sense.
            """
    )

    static let usualPort = 47_474

    @Argument(
        help: """
            The system to ping: its name, the beginning of its id, or its address, with :PORT unless it is \
            \(usualPort). The first one found unless given.
            """
    )
    var system: String?

    @Flag(help: "Stay on this machine.")
    var loopback = false

    @Option(name: .shortAndLong, parsing: .unconditional, help: "How many messages to send, 1 to 1000000.")
    var count = 10

    @Option(name: .shortAndLong, parsing: .unconditional, help: "How many bytes to send with each, 0 to 1000000.")
    var size = 56

    @Option(name: .shortAndLong, parsing: .unconditional, help: "Seconds between messages, 0 to 3600; 0 is at once.")
    var interval = 0.2

    @Option(parsing: .unconditional, help: "Seconds to look for the system, 0.1 to 3600.")
    var wait = 5.0

    func validate() throws {
        guard (1...1_000_000).contains(self.count) else { throw ValidationError("--count is 1 to 1000000.") }
        guard (0...1_000_000).contains(self.size) else { throw ValidationError("--size is 0 to 1000000.") }
        guard (0...3600).contains(self.interval) else { throw ValidationError("--interval is 0 to 3600.") }
        guard (0.1...3600).contains(self.wait) else { throw ValidationError("--wait is 0.1 to 3600.") }
    }

    func run() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.ping-client",
            network: self.loopback ? .loopback : .all
        )
        let statistics: Statistics
        do {
            let (name, request) = try await self.find(configuration)
            statistics = try await self.ping(name, request)
            try Self.report(statistics.summary)
        } catch let error as RemoteSystemError {
            Self.complain("\(error)")
            throw ExitCode(2)
        } catch let error as CocoaError {
            Self.complain("The output cannot be written: \((error.underlying ?? error).localizedDescription)")
            throw ExitCode(2)
        }
        if statistics.lost > 0 { throw ExitCode(1) }
    }

    /// Prints a line at once, for a pipe too. A full disk is an error: whoever reads the file would miss what is not there.
    private static func report(_ line: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    private static func complain(_ message: String) {
        try? FileHandle.standardError.write(contentsOf: Data("ping-client: \(message)\n".utf8))
    }

    /// By address at once, by name as soon as the watcher tells of a system that fits.
    private func find(
        _ configuration: RemoteSystemsConfiguration
    ) async throws -> (String, RemoteSystemConnectionRequest) {
        if let system, let address = Address(system, usualPort: Self.usualPort) {
            return (
                system,
                RemoteSystemConnectionRequest(host: address.host, port: address.port, configuration: configuration)
            )
        }
        let watcher = RemoteSystemWatcher(configuration, filters: [.service("org.example.ping")])
        let events = watcher.events
        try await watcher.start()
        let stop = Task {
            try await Task.sleep(for: .seconds(self.wait))
            await watcher.stop()
        }
        defer { stop.cancel() }
        for await case .added(let found) in events where self.fits(found) {
            return (found.displayName, RemoteSystemConnectionRequest(system: found))
        }
        throw RemoteSystemError(
            .unreachable,
            "No system \(self.system.map { "called \($0) " } ?? "")of this account offers pings here. Is the service "
                + "running there, on the same network and under the same account?",
            side: .network,
            canRetry: true
        )
    }

    private func fits(_ found: RemoteSystem) -> Bool {
        guard let system else { return true }
        return found.displayName == system || found.id.description.hasPrefix(system)
    }

    private func ping(_ name: String, _ request: RemoteSystemConnectionRequest) async throws -> Statistics {
        let service = AppServiceDescription(name: "org.example.ping", requestSchema: .full, responseSchema: .full)
        let payload = Data(repeating: 0x61, count: self.size)
        return try await AppServiceConnection.with(service, request) { connection in
            let target = connection.info
            try Self.report("PING \(name) (\(target?.address ?? "?")), \(self.size) bytes of data")
            var statistics = Statistics()
            for number in 1...self.count {
                let started = ContinuousClock.now
                let response = try await connection.send(
                    [
                        "Type": "ping",
                        "CreationDate": .date(.now),
                        "TargetId": .string(target?.peer.claimedApplicationID ?? ""),
                        "Payload": .data(payload),
                    ],
                    timeout: .seconds(5)
                )
                let time = ContinuousClock.now - started
                statistics.sent += 1
                if response.status == .success {
                    statistics.times.append(time)
                    try Self.report("\(self.size) bytes from \(name): seq=\(number) time=\(Statistics.text(time)) µs")
                } else {
                    try Self.report("seq=\(number) lost: \(response.error?.message ?? "\(response.status)")")
                }
                if number < self.count, self.interval > 0 {
                    try await Task.sleep(for: .seconds(self.interval))
                }
            }
            return statistics
        }
    }
}
