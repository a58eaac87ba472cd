// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems call`.
struct CallCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Send a message to an app service and print its response as JSON.",
        usage: "remotesystems call <system> <service> [<field> ...] [<options>]",
        discussion: """
            Each field is parsed by the type that the service declares for it, and checked before anything is sent. \
            Write key=value for text, numbers, true and false, dates (2026-01-31T12:00:00Z), UUIDs, URLs and base64 \
            data, and key:=JSON for lists and dictionaries. A field without a declared type is text unless it is \
            written as JSON.

              remotesystems call atlas com.example.volume Level=0.4 Rooms:='["attic"]'

            With --listen, the connection stays open until Ctrl-C: requests that the service sends over it are printed \
            and acknowledged. If there are fields, the message is sent first.

              remotesystems call atlas com.example.volume --listen --count 3

            Exit status: 0 if the service responded with success; 1 if it responded with a failure; 2 if it was not \
            found, could not be reached, or does not accept the message. With --listen: 1 if the service closed the \
            connection before --count requests came, 2 if the connection was lost.
            """
    )

    @Argument(help: "The system: \(SystemFinder.help).", completion: NetworkCompletion.systems)
    var system: String

    @Argument(help: "The app service's name.", completion: NetworkCompletion.services)
    var service: String

    @Argument(
        help: ArgumentHelp("The message's fields: key=value or key:=JSON.", valueName: "field"),
        completion: NetworkCompletion.fields,
        transform: MessageField.init(written:)
    )
    var fields: [MessageField] = []

    @Flag(help: "Print the service's summary and the fields of its requests and responses. Sends nothing.")
    var describe = false

    @Flag(
        name: [.customLong("listen"), .customLong("follow")],
        help: "Keep the connection open; print and acknowledge the requests that the service sends."
    )
    var listen = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("With --listen: exit after this many requests. Range: 1 to 1000000.", valueName: "number")
    )
    var count: Int?

    @Option(
        help: ArgumentHelp("The id of the application to call, if several offer the service.", valueName: "id"),
        completion: NetworkCompletion.applications
    )
    var application: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The timeout of the whole call, including the start of the application. Range: 0.001 to 86400 "
                + "seconds.",
            valueName: "time"
        )
    )
    var timeout = EnteredTime(seconds: 30)

    @OptionGroup var nearby: NearbyOptions
    @OptionGroup var names: NameOptions
    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        try self.search.validate(system: self.system)
        try self.names.validate(system: self.system)
        guard self.service.isName else {
            throw ValidationError("The service's name takes \(String.nameForm).")
        }
        guard self.application?.isName ?? true else {
            throw ValidationError("--application takes \(String.nameForm).")
        }
        guard (0.001...86_400).contains(self.timeout.seconds) else {
            throw ValidationError("--timeout takes 0.001 to 86400 seconds, not \(self.timeout).")
        }
        guard !self.describe || self.fields.isEmpty else {
            throw ValidationError("--describe takes no fields.")
        }
        guard !self.describe || !self.listen else {
            throw ValidationError("--describe and --listen cannot be combined.")
        }
        guard self.listen || self.count == nil else { throw ValidationError("--count requires --listen.") }
        guard (1...1_000_000).contains(self.count ?? 1) else { throw ValidationError("--count takes 1 to 1000000.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let finder = SystemFinder(
            self.system,
            wait: self.search.wait,
            self.search.configuration(for: "call", self.common),
            anyoneNearby: self.nearby.anyoneNearby,
            acceptsName: self.names.acceptsName
        )
        let system = try await interruptible {
            try await finder.find(offering: self.service, by: self.application)
        }
        guard let (application, service) = self.offer(on: system) else {
            throw Failure(
                "refused",
                "\(system.displayName) no longer offers the service \(self.service).",
                canRetry: true
            )
        }
        if self.describe {
            try ServiceDescription(service, of: application, on: system).report(output)
            return true
        }
        for note in MessageField.misspellings(self.fields, for: service.requestSchema) { output.note(note) }
        let message = try MessageField.message(self.fields, for: service.requestSchema, isSent: !self.listen)
        if self.listen {
            return try await CallListening(
                application: application,
                service: service,
                message: self.fields.isEmpty ? nil : message,
                count: self.count,
                timeout: self.timeout.duration,
                output: output
            ).run()
        }
        let response = try await interruptible {
            try await AppServiceConnection.sendStateless(
                message,
                to: AppServiceDescription(
                    name: self.service,
                    applicationID: application.id,
                    // Without a declared schema, any response is accepted: it is only printed.
                    responseSchema: service.responseSchema ?? .full
                ),
                request: RemoteSystemConnectionRequest(application: application),
                timeout: self.timeout.duration
            )
        }
        return try Self.report(response, output)
    }

    /// The application that offers the service. Prefers a running one, as a connection does.
    private func offer(
        on system: RemoteSystem
    ) -> (RemoteSystemApplication, RemoteSystemApplication.Service)? {
        let offers = system.applications.compactMap { application in
            application.services.first { $0.name == self.service }.map { (application, $0) }
        }.filter { offer in self.application.map { $0 == offer.0.id } ?? true }
        return offers.first { $0.0.isRunning } ?? offers.first
    }

    /// Prints a response.
    ///
    /// - Returns: Whether the service responded with success.
    static func report(_ response: AppServiceResponse, _ output: Output) throws -> Bool {
        try Self.report(
            StatelessAppServiceResponse(
                status: StatelessAppServiceResponseStatus(response.status),
                message: response.message,
                error: response.error
            ),
            output
        )
    }

    private static func report(_ response: StatelessAppServiceResponse, _ output: Output) throws -> Bool {
        let isAnswered: Set<StatelessAppServiceResponseStatus> = [
            .success, .failure, .resourceLimitsExceeded, .messageTooLarge,
        ]
        guard isAnswered.contains(response.status), response.error?.outcome != .notExecuted else {
            throw response.error
                ?? RemoteSystemError(.refused, "The service did not respond (\(response.status)).", side: .remote)
        }
        let error = response.error
        try output.json(
            ResponseOutput(
                status: "\(response.status)",
                message: response.message,
                reason: error?.message.printable,
                canRetry: error?.canRetry
            )
        )
        guard response.status == .success else {
            let reason = (error?.message ?? "\(response.status)").printable
            let hint = error?.canRetry == true ? " Trying again may help." : ""
            if !output.isJSON { output.complain("The service responded with a failure: \(reason)\(hint)") }
            return false
        }
        try output.line(response.message.readableJSON.printableLines)
        return true
    }
}

/// The output of `call --json`: the response.
private struct ResponseOutput: Encodable {
    let event = "answer"
    let time = Date.now
    var status: String
    var message: ValueSet
    var reason: String?
    var canRetry: Bool?
}

extension String {
    /// The text with each line made ``printable``.
    var printableLines: String {
        self.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
            .joined(separator: "\n")
    }
}
