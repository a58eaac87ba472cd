// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems launch`.
struct LaunchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "launch",
        abstract: "Open a URI on another system of the account.",
        usage: "remotesystems launch <system> <uri> [<options>]",
        discussion: """
            The system's host daemon opens the URI with the desktop's handler for the scheme, if its URI policy \
            allows the scheme. Otherwise an application there that handles the scheme opens it, and is started if it \
            does not run. A denial ends the launch. The output names what opened the URI.

            Exit status: 0 if the URI was opened; 1 if the other system did not open it (no handler, denied by policy \
            or by its user); 2 if the system could not be reached or the result is unknown.
            """
    )

    @Argument(help: "The system: \(SystemFinder.help).", completion: NetworkCompletion.systems)
    var system: String

    @Argument(help: "The absolute URI to open, such as https://example.com/album/42.")
    var uri: String

    @Option(
        help: ArgumentHelp("Open this URI if nothing there can open the first. Not after a denial.", valueName: "uri")
    )
    var fallback: String?

    @Option(
        name: .customLong("application"),
        help: ArgumentHelp(
            "Open the URI only with this application. Repeatable; the first application that can open it does.",
            valueName: "id"
        )
    )
    var applications: [String] = []

    @Option(
        name: .customLong("input"),
        help: ArgumentHelp(
            "Input data for the application, key=value or key:=JSON. Repeatable.",
            valueName: "key=value"
        )
    )
    var input: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long to wait for an application to start on the system and to respond. Range: 0.001 to 86400 "
                + "seconds.",
            valueName: "time"
        )
    )
    var timeout = EnteredTime(seconds: 30)

    @OptionGroup var names: NameOptions
    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        try self.search.validate(system: self.system)
        try self.names.validate(system: self.system)
        do {
            _ = try LaunchURI(self.uri)
            if let fallback { _ = try LaunchURI(fallback) }
            _ = try LaunchInput.parse(self.input)
        } catch let error as RemoteSystemError {
            throw ValidationError(error.message)
        }
        guard (0.001...86_400).contains(self.timeout.seconds) else {
            throw ValidationError("--timeout takes 0.001 to 86400 seconds, not \(self.timeout).")
        }
        for id in self.applications where !id.isName {
            throw ValidationError("--application takes \(String.nameForm).")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "launch", self.common)
        let input = try LaunchInput.parse(self.input)
        let (system, result) = try await interruptible {
            let system = try await SystemFinder(
                self.system,
                wait: self.search.wait,
                configuration,
                acceptsName: self.names.acceptsName
            ).findWhole()
            let result = try await RemoteLauncher().launchURI(
                self.uri,
                with: .system(system),
                options: RemoteLauncherOptions(
                    fallbackURI: self.fallback,
                    preferredApplicationIDs: self.applications,
                    requiresPreferredApplication: !self.applications.isEmpty
                ),
                inputData: input,
                timeout: self.timeout.duration
            )
            return (system, result)
        }
        try output.json(LaunchOutput(system, result))
        guard result.status == .success else {
            let message = result.error?.message ?? "The URI was not opened (\(result.status))."
            switch result.status {
            case .appUnavailable, .protocolUnavailable, .deniedByRemoteSystem:
                if !output.isJSON { output.complain(message.printable) }
                return false
            default:
                var failure = result.error.map { Failure($0) } ?? Failure("unknown", message)
                failure.reason = "\(result.status)"
                throw failure
            }
        }
        let what = result.opened == .fallback ? self.fallback ?? self.uri : self.uri
        let with = result.applicationID.map { " with \($0)" } ?? ""
        try output.line("opened \(what) on \(system.displayName)\(with)".printable)
        return true
    }
}

/// The output of `launch --json`.
private struct LaunchOutput: Encodable {
    let event = "launch"
    let time = Date.now
    var name: String
    var systemID: SystemID
    var status: String
    var statusNumber: Int
    var opened: RemoteLaunchURIResult.Opened?
    var application: String?
    var message: String?
    var side: RemoteSystemError.Side?
    var canRetry: Bool?

    init(_ system: RemoteSystem, _ result: RemoteLaunchURIResult) {
        self.name = system.displayName
        self.systemID = system.id
        self.status = "\(result.status)"
        self.statusNumber = result.status.rawValue
        self.opened = result.opened
        self.application = result.applicationID
        self.message = result.error?.message
        self.side = result.error?.side
        self.canRetry = result.error?.canRetry
    }
}

/// Parses `key=value` and `key:=json` arguments.
enum LaunchInput {
    /// Returns the arguments as a value set; nil if there are none.
    static func parse(_ arguments: [String]) throws -> ValueSet? {
        guard !arguments.isEmpty else { return nil }
        var input: ValueSet = [:]
        for argument in arguments {
            guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else {
                throw ValidationError("--input takes KEY=VALUE or KEY:=JSON.")
            }
            let text = String(argument[argument.index(after: equals)...])
            var key = argument[..<equals]
            let value: Value
            if key.last == ":" {
                key = key.dropLast()
                do {
                    value = try Value(json: Data(text.utf8))
                } catch {
                    throw ValidationError("--input \(key): the value is not valid JSON or cannot be sent: \(error)")
                }
            } else {
                value = .string(text)
            }
            guard !key.isEmpty, input[String(key)] == nil else {
                throw ValidationError("--input gives the key \(key) twice, or an empty key.")
            }
            input[String(key)] = value
        }
        return input
    }
}
