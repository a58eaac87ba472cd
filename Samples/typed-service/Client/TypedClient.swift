// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Messages
import RemoteSystems

/// Orders from the first system of the account that takes orders, and shows what becomes of orders that are wrong.
@main
struct TypedClient {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.typed-client",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        guard let system = try await RemoteSystem.find(offering: orderService, configuration: configuration) else {
            print("Nobody of this account takes orders here. Is typed-service running?")
            exit(2)
        }
        let service = AppServiceDescription(name: orderService)
        try await AppServiceConnection.with(service, RemoteSystemConnectionRequest(system: system)) { connection in
            // Types on both ends.
            let order = Order(dish: "pancakes", portions: 3, notes: ["no sugar"], wanted: Date())
            let receipt = try await connection.send(order, as: Receipt.self)
            print("Ordered:", receipt.summary)

            // Refused by the service, for a reason of its own.
            await self.explain("The service refuses:") {
                _ = try await connection.send(Order(dish: "soup", portions: 99, wanted: Date()), as: Receipt.self)
            }
            // Not even sent: the published schema says that it cannot be right.
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
