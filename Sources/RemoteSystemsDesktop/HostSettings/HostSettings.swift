// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Logging
package import RemoteSystems
internal import UserActivities

/// The settings of the host daemon (`Docs/host-daemon.md`).
package struct HostSettings: Sendable, Hashable {
    package var port = RemoteSystemHost.defaultPort
    package var network = RemoteSystemsConfiguration.Network.all
    package var stateDirectory: String?
    package var displayName: String?
    package var advertise = true
    package var startTimeout = Duration.seconds(10)
    package var logLevel = Logger.Level.notice
    /// The changes to the standard URI policy, by scheme. `*` stands for all schemes without a rule.
    package var uriPolicy: [String: URISchemePolicy.Rule] = [:]
    /// The program that asks the user about URIs with the rule `ask`, with its arguments. Required with such a rule.
    package var askProgram: [String]?
    package var askTimeout = Duration.seconds(20)
    /// Whether what media players play is handed over and continued.
    package var mediaPlayers = false
    /// The folders whose files media players may hand over, by their names.
    package var documentRoots: [String: String] = [:]
    /// Whether what can be continued here is shown as notifications.
    package var notifyOffers = false
    /// Whether notifications of other systems are received.
    package var notifications = true
    /// The applications whose notifications on this desktop the user's other systems show, too.
    package var mirroredApplications: [String] = []
    /// The time for which the button *Later* of a question hides it, in minutes; 0 for no button.
    package var snoozeMinutes = 0

    package init() {}

    /// A value is invalid.
    package struct NotTaken: Error {
        /// The problem, as a phrase after the setting's name. If `nil`, the message lists the allowed values.
        package var text: String?
        /// The index of the invalid element, if the value is an array.
        package var index: Int?

        package init(_ text: String? = nil, at index: Int? = nil) {
            self.text = text
            self.index = index
        }
    }

    /// Checks and stores the value of a setting.
    package mutating func set(_ setting: HostSetting, _ value: HostSetting.Value) throws(NotTaken) {
        switch (setting, value) {
        case (.port, .int(let port)) where (0...65_535).contains(port):
            self.port = port
        case (.network, .string("all")):
            self.network = .all
        case (.network, .string("loopback")):
            self.network = .loopback
        case (.network, .string(let names)):
            let names = names.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard names.allSatisfy({ (1...15).contains($0.utf8.count) && !$0.contains(where: \.isWhitespace) }) else {
                throw NotTaken()
            }
            self.network = .interfaces(names)
        case (.stateDirectory, .string(let path)) where path.hasPrefix("/"):
            self.stateDirectory = path
        case (.displayName, .string(let name)) where name.isName:
            self.displayName = name
        case (.advertise, .bool(let advertise)):
            self.advertise = advertise
        case (.startTimeout, .double(let seconds)) where (0.1...300).contains(seconds):
            self.startTimeout = .milliseconds(Int64(seconds * 1000))
        case (.logLevel, .string(let level)):
            guard let level = Logger.Level(rawValue: level) else { throw NotTaken() }
            self.logLevel = level
        case (.uriPolicy, .strings(let rules)) where rules.count <= 256:
            self.uriPolicy = try Self.policy(rules)
        case (.askProgram, .strings(let arguments)) where (1...64).contains(arguments.count):
            guard arguments[0].hasPrefix("/"),
                arguments.allSatisfy({ $0.utf8.count <= 4096 && !$0.utf8.contains(0) })
            else { throw NotTaken() }
            self.askProgram = arguments
        case (.askTimeout, .double(let seconds)) where (1...300).contains(seconds):
            self.askTimeout = .milliseconds(Int64(seconds * 1000))
        case (.mediaPlayers, .bool(let isOn)):
            self.mediaPlayers = isOn
        case (.notifyOffers, .bool(let isOn)):
            self.notifyOffers = isOn
        case (.notifications, .bool(let isOn)):
            self.notifications = isOn
        case (.mirroredApplications, .strings(let names)) where names.count <= MirrorRules.maxApplications:
            if let index = names.firstIndex(where: { !$0.isName }) { throw NotTaken(at: index) }
            self.mirroredApplications = names
        case (.snoozeMinutes, .int(let minutes)) where (0...43_200).contains(minutes):
            self.snoozeMinutes = minutes
        case (.documentRoots, .strings(let roots)) where roots.count <= DocumentURLMapper.maxRoots:
            self.documentRoots = try Self.roots(roots)
        default:
            throw NotTaken()
        }
    }

    private static func policy(_ rules: [String]) throws(NotTaken) -> [String: URISchemePolicy.Rule] {
        var policy: [String: URISchemePolicy.Rule] = [:]
        for (index, text) in rules.enumerated() {
            guard let (scheme, rule) = Self.rule(text) else { throw NotTaken(at: index) }
            guard policy.updateValue(rule, forKey: scheme) == nil else {
                throw NotTaken("names the scheme '\(scheme)' twice. Give each scheme one rule.", at: index)
            }
        }
        return policy
    }

    /// Parses `name=/path` of each folder.
    private static func roots(_ roots: [String]) throws(NotTaken) -> [String: String] {
        var paths: [String: String] = [:]
        for (index, text) in roots.enumerated() {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, (try? DocumentURLMapper(roots: [parts[0]: URL(filePath: parts[1])])) != nil,
                parts[1].hasPrefix("/"), !parts[1].utf8.contains(0)
            else { throw NotTaken(at: index) }
            guard paths.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw NotTaken("uses the name '\(parts[0])' twice. Give each folder a name of its own.", at: index)
            }
        }
        return paths
    }

    /// Parses `scheme=rule`. Returns `nil` if the text is not in this form.
    package static func rule(_ text: String) -> (scheme: String, rule: URISchemePolicy.Rule)? {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts[0] == "*" || LaunchURI.isScheme(parts[0]),
            let rule = URISchemePolicy.Rule(rawValue: parts[1])
        else { return nil }
        return (parts[0].lowercased(), rule)
    }
}
