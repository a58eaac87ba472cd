// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Configuration
import RemoteSystems
import RemoteSystemsDesktop

extension HostSettings {
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
        let content = file?.decodeWhatIsValid(HostFile.self, problems: &fileProblems)
        var problems: [any Error] = fileProblems
        problems += Self.unknownNames(environment)
        // In a file that is not JSON, no value can be checked. In a JSON file, values of the right type can.
        if file != nil, content == nil { throw HostSettingsProblems(problems) }

        let providers: [any ConfigProvider] = [
            InMemoryProvider(name: "flags", values: Self.keyed(flags)),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: ["remoteSystemsHost"]),
            InMemoryProvider(name: "file", values: Self.keyed(content?.values ?? [:])),
        ]
        let reader = ConfigReader(providers: providers)
        var settings = HostSettings()
        for setting in HostSetting.allCases {
            let value: HostSetting.Value?
            do {
                value = try await setting.fetch(reader)
            } catch {
                problems.append(
                    Self.complaint(setting, NotTaken(), flags: flags, environment: environment, file: file)
                )
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

    private static func keyed(_ values: [HostSetting: HostSetting.Value]) -> [AbsoluteConfigKey: ConfigValue] {
        Dictionary(uniqueKeysWithValues: values.map { (AbsoluteConfigKey([$0.key.rawValue]), $0.value.content) })
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
}

/// All problems of the configuration.
struct HostSettingsProblems: Error {
    let problems: [any Error]

    init(_ problems: [any Error]) { self.problems = problems }
}
