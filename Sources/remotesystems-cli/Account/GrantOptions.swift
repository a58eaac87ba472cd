// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The rights that the systems of a linked account get.
struct GrantOptions: ParsableArguments {
    @Option(
        name: .customLong("service"),
        help: "An app service that the other account may call. Repeatable.",
        completion: NetworkCompletion.services
    )
    var services: [String] = []
    @Option(name: .customLong("scheme"), help: "A scheme of URIs that the other account may open here. Repeatable.")
    var schemes: [String] = []
    @Option(
        name: .customLong("topic"),
        help: "A topic of published state that the other account may subscribe to. Repeatable."
    )
    var topics: [String] = []
    @Option(help: "The number of days after which the rights end. Range: 1 to 36500. Defaults to no end.")
    var days: Int?

    func validate() throws {
        for (option, names) in [("--service", self.services), ("--topic", self.topics)] {
            guard names.count <= Grants.maxNames else { throw Self.tooMany(option) }
            if let mistake = names.lazy.compactMap({ Self.mistake(inName: $0, of: option) }).first {
                throw ValidationError(mistake)
            }
        }
        guard self.schemes.count <= Grants.maxNames else { throw Self.tooMany("--scheme") }
        if let mistake = self.schemes.lazy.compactMap(Self.mistake(inScheme:)).first {
            throw ValidationError(mistake)
        }
        guard self.days == nil || !(self.services + self.schemes + self.topics).isEmpty else {
            throw ValidationError("--days limits rights, and none is named: add --service, --scheme or --topic.")
        }
        if let days, !(1...36_500).contains(days) { throw ValidationError("--days takes a number from 1 to 36500.") }
    }

    private static func tooMany(_ option: String) -> ValidationError {
        ValidationError("\(option) can be given at most \(Grants.maxNames) times.")
    }

    /// What is wrong with the name of a service or a topic; `nil` if nothing is.
    private static func mistake(inName name: String, of option: String) -> String? {
        if name.contains("*") {
            return "\(option) takes one name, such as 'com.example.volume', without '*': '\(name.printable)' would "
                + "permit nothing. Repeat the option for each name."
        }
        guard (1...255).contains(name.utf8.count), name.isName, !name.contains(where: \.isWhitespace) else {
            return "\(option) takes a name of 1 to 255 bytes without spaces and control characters, such as "
                + "'com.example.volume', not '\(name.printable)'."
        }
        return nil
    }

    /// What is wrong with a scheme; `nil` if nothing is.
    private static func mistake(inScheme scheme: String) -> String? {
        guard (1...64).contains(scheme.utf8.count), URIGrammar.isScheme(scheme) else {
            return "--scheme takes the scheme of a URI without ':', such as 'https': a letter, then letters, digits, "
                + "'+', '-' or '.', at most 64 in all. It does not take '\(scheme.printable)'."
        }
        return nil
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
