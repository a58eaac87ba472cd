// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The rights that the systems of a linked account get.
struct GrantOptions: ParsableArguments {
    @Option(
        name: .customLong("service"),
        help: "An app service that they may call. Repeatable.",
        completion: NetworkCompletion.services
    )
    var services: [String] = []
    @Option(name: .customLong("scheme"), help: "A scheme of URIs that they may open here. Repeatable.")
    var schemes: [String] = []
    @Option(name: .customLong("topic"), help: "A topic of published state that they may subscribe to. Repeatable.")
    var topics: [String] = []
    @Option(help: "The number of days after which the rights end. Without it they do not end. Valid range: 1–36500.")
    var days: Int?

    func validate() throws {
        if let days, !(1...36_500).contains(days) { throw ValidationError("--days takes a number from 1 to 36500.") }
    }

    var grants: Grants {
        Grants(
            services: Set(self.services),
            uriSchemes: Set(self.schemes),
            topics: Set(self.topics),
            end: self.days.map { Date.now.addingTimeInterval(Double($0) * 86_400) }
        )
    }

    /// Whether any option is given.
    var isGiven: Bool { !self.grants.isEmpty || self.days != nil }
}
