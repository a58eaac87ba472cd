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
    var filters: [SystemFilter] = []
}

/// A filter as it is written: `kind=desktop`.
struct SystemFilter: ExpressibleByArgument, Sendable {
    let filter: RemoteSystemFilter

    private static let platforms: [RemoteSystemPlatform] = [.unknown, .windows, .android, .iOS, .linux]
    private static let statuses: [RemoteSystemStatus] = [.unavailable, .discoveringAvailability, .available, .unknown]
    private static let discoveryTypes: [RemoteSystemDiscoveryType] = [.any, .proximal, .cloud, .spatiallyProximal]
    private static let authorizationKinds: [RemoteSystemAuthorizationKind] = [.sameUser, .anonymous]

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let filter = Self.filter(parts[0], parts[1]) else { return nil }
        self.filter = filter
    }

    private static func filter(_ key: String, _ value: String) -> RemoteSystemFilter? {
        func named<Choice: CustomStringConvertible>(_ choices: [Choice]) -> Choice? {
            choices.first { $0.description == value }
        }
        switch key {
        case "kind": return .kind(RemoteSystemKind(rawValue: value))
        case "platform": return named(self.platforms).map { .platform($0) }
        case "status": return named(self.statuses).map { .status($0) }
        case "discovery": return named(self.discoveryTypes).map { .discoveryType($0) }
        case "authorization": return named(self.authorizationKinds).map { .authorizationKind($0) }
        case "application": return .application(value)
        case "service": return .service(value)
        case "account": return AccountID(value).map { .account($0) }
        case "remote": return value == "yes" ? .remoteOnly : nil
        default: return nil
        }
    }
}
