// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import LiveMessages
import RemoteSystems

/// Shows five readings of the first thermometer of the account that is found.
@main
struct Display {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.display",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        guard let system = try await self.find(configuration) else {
            print("No system of this account sends readings here. Is the thermometer running?")
            exit(2)
        }
        let service = AppServiceDescription(name: temperatureService)
        let request = RemoteSystemConnectionRequest(system: system)
        try await AppServiceConnection.with(service, request) { connection, requests in
            _ = try await connection.send(ValueSetEncoder().encode(Rate(perSecond: 20))).get()
            for try await request in requests {
                let reading = try request.message(as: Reading.self)
                print("reading \(reading.number): \(String(format: "%.1f", reading.celsius)) °C")
                if reading.number == 5 { break }
            }
        }
    }

    /// The first system found that offers the service, within five seconds.
    static func find(_ configuration: RemoteSystemsConfiguration) async throws -> RemoteSystem? {
        let watcher = RemoteSystemWatcher(configuration, filters: [.service(temperatureService)])
        let events = watcher.events
        try await watcher.start()
        let limit = Task {
            try await Task.sleep(for: .seconds(5))
            await watcher.stop()
        }
        defer { limit.cancel() }
        for await case .added(let system) in events { return system }
        return nil
    }
}
