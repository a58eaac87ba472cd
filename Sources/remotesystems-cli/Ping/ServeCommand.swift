// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Logging
import RemoteSystems
import ServiceLifecycle
import UnixSignals

/// The command `remotesystems serve`.
struct ServeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Offer the ping service to systems of the account until stopped.",
        usage: "remotesystems serve [<options>]",
        discussion: """
            Offers the service \(AppService.pingName) and announces itself, so that 'remotesystems list' and \
            'remotesystems ping' on other machines find this one. Prints a line when it is ready. Ctrl-C and SIGTERM \
            stop it once it has responded to the requests in progress.

            Only one instance can run per application id and account. A second one exits with 2 and names the process \
            of the first. To run both, give the second its own --application-id and --port.

            With --conformance, it is a host on the loopback interface for testing an implementation of the protocol \
            in another language. It uses a temporary account, reports every rule of the wire protocol that a client \
            breaks, and at the end lists the rules that were kept, broken and never exercised. Exit status: 1 if a \
            rule was broken.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The port to listen on; 0 for any free one.", valueName: "port")
    )
    var port = RemoteSystemHost.defaultPort

    @Option(help: ArgumentHelp("The application id under which other systems see it.", valueName: "id"))
    var applicationID = "remote-systems.command.serve"

    @Flag(
        help: """
            Also respond to systems of other accounts on the same network. They can then recognise this machine by an \
            id that does not change.
            """
    )
    var anyoneNearby = false

    @Flag(help: "Test the client of another implementation with a temporary account. Implies --loopback.")
    var conformance = false

    @Option(
        help: ArgumentHelp(
            "With --conformance: the directory for the temporary account and the client's key and certificates.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var identityDirectory: String?

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (0...65_535).contains(self.port) else {
            throw ValidationError("--port takes 0 to 65535, not \(self.port).")
        }
        try self.applicationID.checkApplicationID()
        guard self.conformance == (self.identityDirectory != nil), self.identityDirectory != "" else {
            throw ValidationError("--conformance and --identity-directory must be given together.")
        }
        guard !self.conformance || !self.anyoneNearby && self.state.directory == nil && self.network.interfaces.isEmpty
        else {
            throw ValidationError(
                "--conformance cannot be combined with --anyone-nearby, --state-directory or --interface."
            )
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        if let directory = self.identityDirectory {
            return try await ConformanceRun(
                directory: directory,
                port: self.port,
                network: .loopback,
                output: output,
                logger: self.common.logger()
            ).run()
        }
        let logger = self.common.logger(quietly: .notice)
        var configuration = RemoteSystemsConfiguration("serve", self.network, self.state, logger: logger)
        configuration.applicationID = self.applicationID
        var options = RemoteSystemHost.Options()
        options.port = self.port
        options.displayName = "remotesystems serve"
        options.allowsAnyoneNearby = self.anyoneNearby
        var ping = AppService.ping
        if self.anyoneNearby { ping.options.callers = .anyoneNearby }
        let host = RemoteSystemHost(configuration, services: [ping], options: options)
        do {
            try await ServiceGroup(
                services: [host, Ready(host: host, configuration: configuration, output: output)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            ).run()
        } catch let error as RemoteSystemError where error.code == .applicationAlreadyRunning {
            let holders = (error.cause as? ApplicationIsTaken)?.holders.joined(separator: ", ") ?? ""
            throw Failure(
                "\(error.code)",
                "The application \(self.applicationID) is already running on this system"
                    + "\(holders.isEmpty ? "" : ": \(holders)"). Stop it first, or give this one another "
                    + "--application-id."
            )
        }
        try output.json(ServeOutput(event: "stopped"))
        return true
    }

    /// Prints a line once the host is listening.
    private struct Ready: Service {
        let host: RemoteSystemHost
        let configuration: RemoteSystemsConfiguration
        let output: Output

        func run() async throws {
            guard let port = await self.host.listeningPort() else { return }
            let identity = try RemoteSystemsAccount(self.configuration).identity()
            let interfaces = RemoteSystemsDiagnosis.interfaces(self.configuration)
            if interfaces.status == .problem {
                self.output.note("Other systems cannot find this one yet: \(interfaces.what)".printable.wrapped())
            }
            try self.output.json(
                ServeOutput(
                    event: "ready",
                    port: port,
                    service: AppService.pingName,
                    systemID: identity.systemID,
                    accountID: identity.accountID
                )
            )
            try self.output.line(
                "ready: answering pings on port \(port) as system \(identity.systemID.short) of account "
                    + "\(identity.accountID.short)"
            )
            try? await gracefulShutdown()
        }
    }
}

/// The output of `serve --json`.
private struct ServeOutput: Encodable {
    var event: String
    let time = Date.now
    var port: Int?
    var service: String?
    var systemID: SystemID?
    var accountID: AccountID?
}
