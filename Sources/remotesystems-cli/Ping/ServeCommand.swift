// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Logging
import RemoteSystems
import ServiceLifecycle
import UnixSignals

/// `remotesystems serve`
struct ServeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Answer pings from systems of the account until stopped.",
        usage: "remotesystems serve [<options>]",
        discussion: """
            Offers the service \(AppService.pingName) and announces itself, so that 'remotesystems list' and \
            'remotesystems ping' on other machines find this one. Prints a line when it is ready. Ctrl-C and SIGTERM \
            stop it once the requests under way are answered.

            One runs for each application id and account: a second one ends with 2 and names the process of the first. \
            Give it another --application-id, and another --port, to run both.

            With --conformance it is a host for testing an implementation of the protocol in another language, on this \
            machine alone: it uses a throw-away account, reports which rule of the wire protocol a client breaks, and \
            lists at the end the rules that were kept, broken and never exercised. The exit status is 1 if one was \
            broken.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The port to listen on; 0 for any free one.", valueName: "port")
    )
    var port = RemoteSystemHost.defaultPort

    @Option(help: ArgumentHelp("The id of the application that it appears as.", valueName: "id"))
    var applicationID = "remote-systems.command.serve"

    @Flag(
        help: """
            Answer systems of other accounts on the same network, too. Whoever is near can then recognise this machine \
            by an id that stays the same.
            """
    )
    var anyoneNearby = false

    @Flag(help: "Test the client of another implementation, with a throw-away account; implies --loopback.")
    var conformance = false

    @Option(
        help: ArgumentHelp(
            "With --conformance: where the throw-away account and the client's key and certificates are written.",
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
        guard self.applicationID.isName else {
            throw ValidationError("--application-id is \(String.nameForm).")
        }
        guard self.conformance == (self.identityDirectory != nil), self.identityDirectory != "" else {
            throw ValidationError("--conformance and --identity-directory go together.")
        }
        guard !self.conformance || !self.anyoneNearby && self.state.directory == nil && self.network.interfaces.isEmpty
        else {
            throw ValidationError("--conformance excludes --anyone-nearby, --state-directory and --interface.")
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
                "The application \(self.applicationID) is already running on this system\(holders.isEmpty ? "" : ": \(holders)"). "
                    + "It answers pings there. Stop it first, or give this one another --application-id."
            )
        }
        try output.json(ServeOutput(event: "stopped"))
        return true
    }

    /// Says when the host can be reached.
    private struct Ready: Service {
        let host: RemoteSystemHost
        let configuration: RemoteSystemsConfiguration
        let output: Output

        func run() async throws {
            let port: Int
            do {
                port = try await self.host.port
            } catch {
                // The host has ended, and says why.
                try? await gracefulShutdown()
                return
            }
            let identity = try RemoteSystemsAccount(self.configuration).identity()
            let interfaces = RemoteSystemsDiagnosis.interfaces(self.configuration)
            if interfaces.status == .problem {
                self.output.note("Nobody finds it yet: \(interfaces.what)".printable.wrapped())
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

/// What `serve --json` prints.
private struct ServeOutput: Encodable {
    var event: String
    let time = Date.now
    var port: Int?
    var service: String?
    var systemID: SystemID?
    var accountID: AccountID?
}
