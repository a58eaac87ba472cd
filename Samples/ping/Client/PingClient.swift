// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Logging
import RemoteSystems

/// Finds the ping service, opens a connection, exchanges pings, and prints the output of `ping` (R-42).
@main
struct PingClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping-client",
        abstract: "Pings the ping service of a system of the same account.",
        discussion: """
            Exit status: 0 if every message was answered; 1 if one was lost; 2 if the service was not found or could \
            not be reached, or the output cannot be written; 64 if the arguments are invalid.
            """
    )

    static let usualPort = 47_474

    @Argument(
        help: """
            The system to ping: its name, the beginning of its id, or its address (with :PORT unless the port is \
            \(usualPort)). Defaults to the first system found.
            """
    )
    var system: String?

    @Flag(help: "Use only the loopback interface.")
    var loopback = false

    @Option(name: .shortAndLong, parsing: .unconditional, help: "The number of messages. Range: 1 to 1000000.")
    var count = 10

    @Option(name: .shortAndLong, parsing: .unconditional, help: "The payload in bytes. Range: 0 to 1000000.")
    var size = 56

    @Option(name: .shortAndLong, parsing: .unconditional, help: "The seconds between messages. Range: 0 to 3600.")
    var interval = 0.2

    @Option(parsing: .unconditional, help: "The maximum seconds to look for the system. Range: 0.1 to 3600.")
    var wait = 5.0

    func validate() throws {
        guard (1...1_000_000).contains(self.count) else { throw ValidationError("--count takes 1 to 1000000.") }
        guard (0...1_000_000).contains(self.size) else { throw ValidationError("--size takes 0 to 1000000.") }
        guard (0...3600).contains(self.interval) else { throw ValidationError("--interval takes 0 to 3600.") }
        guard (0.1...3600).contains(self.wait) else { throw ValidationError("--wait takes 0.1 to 3600.") }
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

    /// Prints a line unbuffered, so that a reader of a pipe gets it at once.
    ///
    /// - Throws: The error of the write, for example on a full disk. Otherwise lines would be missing without notice.
    private static func report(_ line: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    private static func complain(_ message: String) {
        try? FileHandle.standardError.write(contentsOf: Data("ping-client: \(message)\n".utf8))
    }

    /// Returns a request for the address on the command line, for the only system that it names, or for the first one
    /// that a watcher finds.
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
        var matching: [RemoteSystem] = []
        var isComplete = self.system == nil
        for await event in events {
            switch event {
            case .added(let found) where self.fits(found): matching.append(found)
            case .enumerationCompleted: isComplete = true
            default: break
            }
            // A system chooses its own name, so several can have the same one. A caller must not guess.
            guard isComplete, let found = matching.first else { continue }
            guard matching.count == 1 || self.system == nil else { throw Self.ambiguous(matching) }
            return (found.displayName, RemoteSystemConnectionRequest(system: found))
        }
        throw RemoteSystemError(
            .unreachable,
            "No system \(self.system.map { "called \($0) " } ?? "")of this account with the ping service was found. "
                + "Check that the service is running on it, on the same network and in the same account.",
            side: .network,
            canRetry: true
        )
    }

    private static func ambiguous(_ systems: [RemoteSystem]) -> RemoteSystemError {
        RemoteSystemError(
            .invalidArgument,
            "Several systems match. Name one by the beginning of its id: "
                + systems.map { "\($0.id)" }.sorted().joined(separator: ", "),
            side: .local
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
