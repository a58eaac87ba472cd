// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// Which systems are told of.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .customLong("filter"),
        help: ArgumentHelp(
            """
            Only systems that fit; may be given several times. Keys: kind, platform, status, discovery, authorization, \
            application, service, account, and remote=yes for other machines than this one. Two of one key widen each other, \
            different keys narrow each other.
            """,
            valueName: "key=value"
        )
    )
    var texts: [String] = []

    /// The filters, which ``validate()`` has found to be some.
    var filters: [RemoteSystemFilter] { self.texts.compactMap { try? Self.filter($0) } }

    // Not by the parser, whose own errors say neither which words there are nor where a line ends.
    func validate() throws {
        for text in self.texts { _ = try Self.filter(text) }
    }

    private static let platforms: [RemoteSystemPlatform] = [.unknown, .windows, .android, .iOS, .linux]
    private static let statuses: [RemoteSystemStatus] = [.unavailable, .discoveringAvailability, .available, .unknown]
    private static let discoveryTypes: [RemoteSystemDiscoveryType] = [.any, .proximal, .cloud, .spatiallyProximal]
    private static let authorizationKinds: [RemoteSystemAuthorizationKind] = [.sameUser, .anonymous]

    private static func filter(_ text: String) throws -> RemoteSystemFilter {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw ValidationError("--filter is written key=value, not '\(text)'.") }
        let (key, value) = (parts[0], parts[1])
        func named<Choice: CustomStringConvertible>(_ choices: [Choice]) throws -> Choice {
            if let choice = choices.first(where: { $0.description == value }) { return choice }
            let words = choices.map(\.description).joined(separator: ", ")
            let question = SimilarNames.question(for: value, among: choices.map(\.description))
            throw ValidationError("--filter \(key) is one of \(words), not '\(value)'.\(question)")
        }
        switch key {
        case "kind": return .kind(RemoteSystemKind(rawValue: value))
        case "platform": return .platform(try named(self.platforms))
        case "status": return .status(try named(self.statuses))
        case "discovery": return .discoveryType(try named(self.discoveryTypes))
        case "authorization": return .authorizationKind(try named(self.authorizationKinds))
        case "application", "service":
            guard value.isName else { throw ValidationError("--filter \(key) is \(String.nameForm).") }
            return key == "service" ? .service(value) : .application(value)
        case "account":
            guard let id = AccountID(value) else { throw ValidationError("--filter account is an account's whole id.") }
            return .account(id)
        case "remote":
            guard value == "yes" else { throw ValidationError("--filter remote is 'yes' or left out, not '\(value)'.") }
            return .remoteOnly
        default:
            throw ValidationError(
                "--filter knows no key '\(key)', but kind, platform, status, discovery, authorization, application, "
                    + "service, account and remote."
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
