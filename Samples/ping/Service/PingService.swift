// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import RemoteSystems
import ServiceLifecycle

/// A program with an embedded host and one app service, which responds to pings.
@main
struct PingService: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping-service",
        abstract: "Responds to pings from systems of the same account until it is stopped."
    )

    @Flag(help: "Use only the loopback interface: announce nothing to the network and accept nothing from it.")
    var loopback = false

    @Option(help: ArgumentHelp("The port to listen on; 0 for any free one.", valueName: "port"))
    var port = 0

    func run() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.ping-service",
            network: self.loopback ? .loopback : .all
        )
        // The schema is published and checked on both sides. The SDK refuses an invalid message before it is sent.
        let schema = AllowedValueSchema(
            fields: [
                .required("Type", .string), .required("CreationDate", .date), .required("TargetId", .string),
                .optional("Payload", .data),
            ],
            basedOn: .full
        )
        let ping = AppService("org.example.ping", requestSchema: schema, responseSchema: .full) { request in
            guard request.message["Type"] == "ping" else {
                throw AppServiceFailure("This service accepts only messages of the type \"ping\".")
            }
            var response = request.message
            response["Type"] = "pong"
            return response
        }
        var options = RemoteSystemHost.Options()
        options.port = self.port
        // Several instances may run, such as one with --loopback and one without: all give the same responses.
        options.allowsSeveralProcesses = true
        let host = RemoteSystemHost(configuration, services: [ping], options: options)
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
        let port = try await self.host.port
        try FileOutput.standardOutput.writeLine("ready: answering pings on port \(port)")
        try? await gracefulShutdown()
    }
}
