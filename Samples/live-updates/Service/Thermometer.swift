// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import LiveMessages
import RemoteSystems
import ServiceLifecycle
import Synchronization

/// Offers readings of a simulated thermometer until it is stopped.
@main
struct Thermometer {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.thermometer",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        // The schemas are published, so that callers in any language can look them up.
        let readings = AppService(
            temperatureService,
            requestSchema: AllowedValueSchema(decoding: Rate.self),
            options: AppService.Options(pushRequestSchema: AllowedValueSchema(decoding: Reading.self)),
            provider: Readings()
        )
        let host = RemoteSystemHost(configuration, services: [readings])
        try await ServiceGroup(
            services: [host, Ready(host: host)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: configuration.logger
        ).run()
    }
}

/// Sends readings to each caller while it is connected.
final class Readings: AppServiceProvider {
    private struct Caller {
        var task: Task<Void, any Error>
        var rate = Rate(perSecond: 10)
    }

    private let callers = Mutex<[ObjectIdentifier: Caller]>([:])

    /// Sets the rate of the caller's readings.
    func respond(to request: AppServiceRequest) throws -> ValueSet {
        let rate = try request.message(as: Rate.self)
        guard (0.1...100).contains(rate.perSecond) else {
            throw AppServiceFailure("perSecond must be 0.1 to 100.")
        }
        self.callers.withLock { $0[ObjectIdentifier(request.connection)]?.rate = rate }
        return [:]
    }

    func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {
        let task = Task { try await self.send(to: connection) }
        self.callers.withLock { $0[ObjectIdentifier(connection)] = Caller(task: task) }
    }

    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
        self.callers.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }?.task.cancel()
    }

    private func send(to connection: AppServiceConnection) async throws {
        for number in 1... {
            let reading = Reading(number: number, celsius: 20 + sin(Double(number) / 10), time: Date())
            // Returns when the caller has responded. A slow caller gets fewer readings, and none are queued for it.
            let response = try await connection.send(ValueSetEncoder().encode(reading))
            if response.status != .success { print("not accepted:", response.error?.message ?? "\(response.status)") }
            let rate = self.callers.withLock { $0[ObjectIdentifier(connection)]?.rate.perSecond } ?? 10
            try await Task.sleep(for: .seconds(1 / rate))
        }
    }
}

/// Prints a line once the host is listening.
struct Ready: Service {
    let host: RemoteSystemHost

    func run() async throws {
        let line = "ready: sending readings on port \(try await self.host.port)\n"
        FileHandle.standardOutput.write(Data(line.utf8))
        try? await gracefulShutdown()
    }
}
