// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import LiveMessages
import RemoteSystems

/// Prints five readings of the first thermometer that is found in the account.
@main
struct Display {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.display",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        guard let system = try await RemoteSystem.find(offering: temperatureService, configuration: configuration)
        else {
            print("No system of this account that sends readings was found. Check that the thermometer is running.")
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
}
