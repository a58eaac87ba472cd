// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Messages
import RemoteSystems
import ServiceLifecycle

/// Takes orders from systems of the account until it is stopped.
@main
struct TypedService {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.typed-service",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        // The types' schemas are published. Invalid messages never reach the handler: the caller's SDK or this host
        // refuses them.
        let orders = AppService(orderService) { (order: Order, request) -> Receipt in
            guard (1...12).contains(order.portions) else {
                // Callers see the text of an AppServiceFailure, but not of other errors.
                throw AppServiceFailure("The kitchen makes 1 to 12 portions at a time.")
            }
            return Receipt(
                number: UUID(),
                summary: "\(order.portions) × \(order.dish), ordered by system \(request.caller.systemID.short)",
                ready: max(order.wanted, Date() + 600)
            )
        }
        let host = RemoteSystemHost(configuration, services: [orders])
        try await ServiceGroup(
            services: [host, Ready(host: host)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: configuration.logger
        ).run()
    }
}

/// Prints a line once the host is listening.
struct Ready: Service {
    let host: RemoteSystemHost

    func run() async throws {
        let line = "ready: taking orders on port \(try await self.host.port)\n"
        FileHandle.standardOutput.write(Data(line.utf8))
        try? await gracefulShutdown()
    }
}
