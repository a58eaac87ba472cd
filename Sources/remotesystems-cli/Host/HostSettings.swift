// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Configuration
import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop

/// How the host daemon is set up (`Docs/host-daemon.md`).
struct HostSettings: Sendable, Hashable {
    var port = RemoteSystemHost.defaultPort
    var network = RemoteSystemsConfiguration.Network.all
    var stateDirectory: String?
    var displayName: String?
    var advertise = true
    var startTimeout = Duration.seconds(10)
    var logLevel = Logger.Level.notice
    /// What is opened for others, where it differs from the standard; `*` for schemes that are not named.
    var uriPolicy: [String: URISchemePolicy.Rule] = [:]
    /// Asks somebody about what the policy says; `nil` when nobody can be asked.
    var askProgram: [String]?
    var askTimeout = Duration.seconds(20)

    /// Reads the settings.
    ///
    /// - Throws: ``HostSettingsProblems`` with everything that is not understood; what keeps the file from being read.
    static func read(
        flags: [HostSetting: HostSetting.Value],
        environment: [String: String],
        file path: String?,
        mustExist: Bool
    ) async throws -> HostSettings {
        let file = try path.flatMap { try ConfigurationFile(path: $0) }
        guard file != nil || !mustExist else {
            throw ConfigurationFileError(path: path ?? "", "There is no such file.")
        }
        var fileProblems: [ConfigurationFileError] = []
        _ = file?.decode(HostFile.self, problems: &fileProblems)
        var problems: [any Error] = fileProblems
        problems += Self.unknownNames(environment)
        // Of a file that is not JSON no value can be judged; of another one those that are of the right type.
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
            let text = "says that somebody is asked about '\(scheme)', and 'askProgram' does not say how."
            problems.append(
                Self.complaint(.uriPolicy, NotTaken(text), flags: flags, environment: environment, file: file)
            )
        }
        guard problems.isEmpty else { throw HostSettingsProblems(problems) }
        return settings
    }

    /// That a value cannot be taken.
    private struct NotTaken: Error {
        /// What is wrong, if it is not only that the setting takes something else.
        var text: String?
        /// Which one of an array it is.
        var index: Int?

        init(_ text: String? = nil, at index: Int? = nil) {
            self.text = text
            self.index = index
        }
    }

    /// Every key of the file known and of its type.
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
                "The variable \($0) is not known.\(SimilarNames.question(for: $0, among: known)) Known are: "
                    + "\(known.joined(separator: ", "))."
            )
        }
    }

    /// Whose value it is that cannot be taken.
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

    /// `scheme=rule`; `nil` when it is not.
    static func rule(_ text: String) -> (scheme: String, rule: URISchemePolicy.Rule)? {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts[0] == "*" || LaunchURI.isScheme(parts[0]),
            let rule = URISchemePolicy.Rule(rawValue: parts[1])
        else { return nil }
        return (parts[0].lowercased(), rule)
    }
}

/// Everything in the configuration that is not understood.
struct HostSettingsProblems: Error {
    let problems: [any Error]

    init(_ problems: [any Error]) { self.problems = problems }
}

extension HostSettings {
    /// What differs and cannot be changed while the host runs.
    func needsRestart(to other: HostSettings) -> [HostSetting] {
        HostSetting.allCases.filter { setting in
            switch setting {
            case .network: self.network != other.network
            case .stateDirectory: self.stateDirectory != other.stateDirectory
            case .port, .displayName, .advertise, .startTimeout, .logLevel, .uriPolicy, .askProgram, .askTimeout: false
            }
        }
    }

    /// Opens URIs for others as the settings say.
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
            policy.ask = { await asking.ask($0) }
        }
        return await DesktopURILauncher(policy: policy, stateDirectory: self.stateDirectory)
    }
}
