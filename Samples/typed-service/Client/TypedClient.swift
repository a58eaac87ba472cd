// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Messages
import RemoteSystems

/// Sends orders to the first system of the account that accepts them, and prints the errors of invalid orders.
@main
struct TypedClient {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.typed-client",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        guard let system = try await RemoteSystem.find(offering: orderService, configuration: configuration) else {
            print("No system of this account that takes orders was found. Check that typed-service is running.")
            exit(2)
        }
        let service = AppServiceDescription(name: orderService)
        try await AppServiceConnection.with(service, RemoteSystemConnectionRequest(system: system)) { connection in
            // Request and response have types.
            let order = Order(dish: "pancakes", portions: 3, notes: ["no sugar"], wanted: Date())
            let receipt = try await connection.send(order, as: Receipt.self)
            print("Ordered:", receipt.summary)

            // The handler refuses this order.
            await self.explain("The service refuses:") {
                _ = try await connection.send(Order(dish: "soup", portions: 99, wanted: Date()), as: Receipt.self)
            }
            // This order is not sent: it does not match the published schema.
            await self.explain("The schema refuses:") {
                _ = try await connection.send(["dish": "soup", "portions": "two", "wanted": .date(.now)]).get()
            }
        }
    }

    static func explain(_ title: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            print(title, "nothing")
        } catch let error as RemoteSystemError {
            print(title, error.message, "(\(error.code), \(error.side))")
        } catch {
            print(title, error)
        }
    }
}
