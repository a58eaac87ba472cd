// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Configuration
import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import UserActivities

/// The settings of the host daemon (`Docs/host-daemon.md`).
struct HostSettings: Sendable, Hashable {
    var port = RemoteSystemHost.defaultPort
    var network = RemoteSystemsConfiguration.Network.all
    var stateDirectory: String?
    var displayName: String?
    var advertise = true
    var startTimeout = Duration.seconds(10)
    var logLevel = Logger.Level.notice
    /// The changes to the standard URI policy, by scheme. `*` stands for all schemes without a rule.
    var uriPolicy: [String: URISchemePolicy.Rule] = [:]
    /// The program that asks the user about URIs with the rule `ask`, with its arguments. If `nil`, they are denied.
    var askProgram: [String]?
    var askTimeout = Duration.seconds(20)
    /// Whether what media players play is handed over and continued.
    var mediaPlayers = false
    /// The folders whose files media players may hand over, by their names.
    var documentRoots: [String: String] = [:]
    /// Whether what can be continued here is shown as notifications.
    var notifyOffers = false
    /// Whether notifications of other systems are received.
    var notifications = true
    /// The applications whose notifications on this desktop the user's other systems show, too.
    var mirroredApplications: [String] = []
    /// The time for which the button *Later* of a question hides it, in minutes; 0 for no button.
    var snoozeMinutes = 0

    /// Reads the settings.
    ///
    /// - Throws: ``HostSettingsProblems`` with all invalid settings; `ConfigurationFileError` if the file cannot be
    ///   read.
    static func read(
        flags: [HostSetting: HostSetting.Value],
        environment: [String: String],
        file path: String?,
        mustExist: Bool
    ) async throws -> HostSettings {
        let file = try path.flatMap { try ConfigurationFile(path: $0) }
        guard file != nil || !mustExist else {
            throw ConfigurationFileError(path: path ?? "", "The file does not exist.")
        }
        var fileProblems: [ConfigurationFileError] = []
        _ = file?.decode(HostFile.self, problems: &fileProblems)
        var problems: [any Error] = fileProblems
        problems += Self.unknownNames(environment)
        // In a file that is not JSON, no value can be checked. In a JSON file, values of the right type can.
        if let file, JSONLines(file.bytes).brokenLine != nil { throw HostSettingsProblems(problems) }
        let reported = Set(fileProblems.compactMap(\.line))

        var providers: [any ConfigProvider] = [
            InMemoryProvider(
                name: "flags",
                values: Dictionary(
                    uniqueKeysWithValues: flags.map { (AbsoluteConfigKey([$0.key.rawValue]), $0.value.content) }
                )
            ),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: ["remoteSystemsHost"]),
        ]
        if let file {
            providers.append(
                try await FileProvider<JSONSnapshot>(
                    config: ConfigReader(
                        provider: InMemoryProvider(values: ["filePath": ConfigValue(stringLiteral: file.path)])
                    )
                )
            )
        }
        let reader = ConfigReader(providers: providers)
        var settings = HostSettings()
        for setting in HostSetting.allCases {
            let value: HostSetting.Value?
            do {
                value = try await setting.fetch(reader)
            } catch {
                let complaint = Self.complaint(setting, NotTaken(), flags: flags, environment: environment, file: file)
                let line = (complaint as? ConfigurationFileError)?.line
                if line.map({ !reported.contains($0) }) ?? true { problems.append(complaint) }
                continue
            }
            do throws(NotTaken) {
                if let value { try settings.set(setting, value) }
            } catch {
                problems.append(Self.complaint(setting, error, flags: flags, environment: environment, file: file))
            }
        }
        if settings.askProgram == nil, let scheme = settings.uriPolicy.filter({ $0.value == .ask }).keys.sorted().first
        {
            let text = "has the rule 'ask' for '\(scheme)', but 'askProgram' is not set."
            problems.append(
                Self.complaint(.uriPolicy, NotTaken(text), flags: flags, environment: environment, file: file)
            )
        }
        guard problems.isEmpty else { throw HostSettingsProblems(problems) }
        return settings
    }

    /// A value is invalid.
    private struct NotTaken: Error {
        /// The problem, as a phrase after the setting's name. If `nil`, the message lists the allowed values.
        var text: String?
        /// The index of the invalid element, if the value is an array.
        var index: Int?

        init(_ text: String? = nil, at index: Int? = nil) {
            self.text = text
            self.index = index
        }
    }

    /// Checks that every key of the file is known and has the right type.
    private struct HostFile: Decodable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: HostSetting.self)
            for key in container.allKeys { try decoder.attempt(()) { _ = try key.decode(container) } }
        }
    }

    private static func unknownNames(_ environment: [String: String]) -> [Failure] {
        let known = HostSetting.allCases.map(\.variable)
        return environment.keys.sorted().filter { $0.hasPrefix(HostSetting.variablePrefix) && !known.contains($0) }.map
        {
            Failure(
                Failure.misconfigured,
                "The variable \($0) is not known.\(SimilarNames.question(for: $0, among: known)) Known variables: "
                    + "\(known.joined(separator: ", "))."
            )
        }
    }

    /// The error for an invalid value, which names its source: option, variable or file.
    private static func complaint(
        _ setting: HostSetting,
        _ notTaken: NotTaken,
        flags: [HostSetting: HostSetting.Value],
        environment: [String: String],
        file: ConfigurationFile?
    ) -> any Error {
        let text = notTaken.text ?? "takes \(setting.takes)."
        if flags[setting] != nil {
            return Failure(Failure.misconfigured, "The option for '\(setting.rawValue)' \(text)")
        }
        if environment[setting.variable] != nil {
            return Failure(Failure.misconfigured, "The variable \(setting.variable) \(text)")
        }
        let place = [setting.rawValue] + (notTaken.index.map { ["\($0)"] } ?? [])
        return file?.error(at: place, "'\(setting.rawValue)' \(text)")
            ?? Failure(Failure.misconfigured, "'\(setting.rawValue)' \(text)")
    }

    private mutating func set(_ setting: HostSetting, _ value: HostSetting.Value) throws(NotTaken) {
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
    static func rule(_ text: String) -> (scheme: String, rule: URISchemePolicy.Rule)? {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts[0] == "*" || LaunchURI.isScheme(parts[0]),
            let rule = URISchemePolicy.Rule(rawValue: parts[1])
        else { return nil }
        return (parts[0].lowercased(), rule)
    }
}

/// All problems of the configuration.
struct HostSettingsProblems: Error {
    let problems: [any Error]

    init(_ problems: [any Error]) { self.problems = problems }
}

extension HostSettings {
    /// The settings that differ in `other` and need a restart to change.
    func needsRestart(to other: HostSettings) -> [HostSetting] {
        HostSetting.allCases.filter { setting in
            switch setting {
            case .network: self.network != other.network
            case .stateDirectory: self.stateDirectory != other.stateDirectory
            case .mediaPlayers: self.mediaPlayers != other.mediaPlayers
            case .documentRoots: self.documentRoots != other.documentRoots
            case .notifyOffers: self.notifyOffers != other.notifyOffers
            case .notifications: self.notifications != other.notifications
            case .mirroredApplications: self.mirroredApplications != other.mirroredApplications
            case .snoozeMinutes: self.snoozeMinutes != other.snoozeMinutes
            case .port, .displayName, .advertise, .startTimeout, .logLevel, .uriPolicy, .askProgram, .askTimeout: false
            }
        }
    }

    /// Translates the URLs of files between systems; `nil` without folders.
    func documents() -> DocumentURLMapper? {
        guard !self.documentRoots.isEmpty else { return nil }
        // The folders were checked when they were read.
        return try? DocumentURLMapper(roots: self.documentRoots.mapValues { URL(filePath: $0) })
    }

    /// Creates the launcher that opens URIs for other systems.
    func launcher(logger: Logger) async -> DesktopURILauncher {
        var policy = URISchemePolicy.standard
        policy.rules.merge(self.uriPolicy.filter { $0.key != "*" }) { $1 }
        policy.otherSchemes = self.uriPolicy["*"] ?? .deny
        if let askProgram {
            let asking = AskingProgram(
                askProgram,
                environment: ApplicationEnvironment.passedOn(
                    from: ProcessInfo.processInfo.environment,
                    stateDirectory: self.stateDirectory
                ),
                timeout: self.askTimeout,
                logger: logger
            )
            policy.ask = { try await asking.ask($0) }
        }
        return await DesktopURILauncher(policy: policy, stateDirectory: self.stateDirectory)
    }
}
