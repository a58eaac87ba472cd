// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import RemoteSystems
import ServiceLifecycle

/// A program that embeds a host and offers one app service: it answers pings.
@main
struct PingService: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping-service",
        abstract: "Answers pings from systems of the same account until it is stopped."
    )

    @Flag(help: "Stay on this machine: announce nothing to the network and take nothing from it.")
    var loopback = false

    @Option(help: ArgumentHelp("The port to listen on; 0 for any free one.", valueName: "port"))
    var port = 0

    func run() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.ping-service",
            network: self.loopback ? .loopback : .all
        )
        // Published, and checked on both sides: a caller that sends something else gets the error before anything is sent.
        let schema = AllowedValueSchema(
            fields: [
                .required("Type", .string), .required("CreationDate", .date), .required("TargetId", .string),
                .optional("Payload", .data),
            ],
            basedOn: .full
        )
        let ping = AppService("org.example.ping", requestSchema: schema, responseSchema: .full) { request in
            guard request.message["Type"] == "ping" else {
                throw AppServiceFailure("This service answers messages of the type \"ping\" only.")
            }
            var response = request.message
            response["Type"] = "pong"
            return response
        }
        var options = RemoteSystemHost.Options()
        options.port = self.port
        // One for the network and one for a trial on this machine answer alike: it does not matter which is called.
        options.allowsSeveralProcesses = true
        let host = RemoteSystemHost(configuration, services: [ping], options: options)
        try await ServiceGroup(
            services: [host, Ready(host: host)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: configuration.logger
        ).run()
    }
}

/// Says when the host can be reached, for people and for scripts.
struct Ready: Service {
    let host: RemoteSystemHost

    func run() async throws {
        let port = try await self.host.port
        try FileOutput.standardOutput.writeLine("ready: answering pings on port \(port)")
        try? await gracefulShutdown()
    }
}
