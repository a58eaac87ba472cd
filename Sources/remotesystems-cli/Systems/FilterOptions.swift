// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The filters for the systems that a subcommand reports.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .customLong("filter"),
        help: ArgumentHelp(
            """
            Only report systems that match. Keys: kind (laptop, server, …), platform (linux, …), status, discovery \
            (proximal, cloud), authorization (sameUser, linked, anonymous), application, service, account, and \
            remote=yes for other machines than this one. Repeatable: a system must match one value of each given key.
            """,
            valueName: "key=value"
        )
    )
    var texts: [String] = []

    /// The filters. ``validate()`` has checked them.
    var filters: [RemoteSystemFilter] { self.texts.compactMap { try? Self.filter($0) } }

    // The parser's own errors would not list the allowed words.
    func validate() throws {
        for text in self.texts { _ = try Self.filter(text) }
    }

    private static let platforms: [RemoteSystemPlatform] = [.unknown, .windows, .android, .iOS, .linux]
    private static let statuses: [RemoteSystemStatus] = [.unavailable, .discoveringAvailability, .available, .unknown]
    private static let discoveryTypes: [RemoteSystemDiscoveryType] = [.any, .proximal, .cloud, .spatiallyProximal]
    private static let authorizationKinds: [RemoteSystemAuthorizationKind] = [.sameUser, .linked, .anonymous]

    private static func filter(_ text: String) throws -> RemoteSystemFilter {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw ValidationError("--filter takes key=value, not '\(text)'.") }
        let (key, value) = (parts[0], parts[1])
        func named<Choice: CustomStringConvertible>(_ choices: [Choice]) throws -> Choice {
            if let choice = choices.first(where: { $0.description == value }) { return choice }
            let words = choices.map(\.description).joined(separator: ", ")
            let question = SimilarNames.question(for: value, among: choices.map(\.description))
            throw ValidationError("--filter \(key) takes one of \(words), not '\(value)'.\(question)")
        }
        switch key {
        case "kind": return .kind(RemoteSystemKind(rawValue: value))
        case "platform": return .platform(try named(self.platforms))
        case "status": return .status(try named(self.statuses))
        case "discovery": return .discoveryType(try named(self.discoveryTypes))
        case "authorization": return .authorizationKind(try named(self.authorizationKinds))
        case "application", "service":
            guard value.isName else { throw ValidationError("--filter \(key) takes \(String.nameForm).") }
            return key == "service" ? .service(value) : .application(value)
        case "account":
            guard let id = AccountID(value) else {
                throw ValidationError("--filter account takes an account's full id.")
            }
            return .account(id)
        case "remote":
            guard value == "yes" else { throw ValidationError("--filter remote takes 'yes', not '\(value)'.") }
            return .remoteOnly
        default:
            throw ValidationError(
                "--filter has no key '\(key)'. Keys: kind, platform, status, discovery, authorization, application, "
                    + "service, account, remote."
                    + SimilarNames.question(
                        for: key,
                        among: [
                            "kind", "platform", "status", "discovery", "authorization", "application", "service",
                            "account", "remote",
                        ]
                    )
            )
        }
    }
}
