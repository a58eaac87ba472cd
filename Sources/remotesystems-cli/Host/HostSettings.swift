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
    var announce = true
    var startTimeout = Duration.seconds(10)
    var logLevel = Logger.Level.notice
    /// What may be opened for others beside the standard schemes; `nil` for those alone.
    var uriSchemes: [String]?

    /// Reads the settings.
    ///
    /// - Throws: ``ConfigurationFileError``, ``Failure``: what is not understood is told and not passed over.
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
        _ = try file?.decode(HostFile.self)
        try Self.checkNames(environment)

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
            do {
                guard let value = try await setting.fetch(reader) else { continue }
                guard settings.set(setting, value) else { throw NotTaken() }
            } catch {
                throw Self.complaint(setting, flags: flags, environment: environment, file: file)
            }
        }
        return settings
    }

    private struct NotTaken: Error {}

    /// Every key of the file known and of its type.
    private struct HostFile: Decodable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: HostSetting.self)
            for key in container.allKeys { _ = try key.decode(container) }
        }
    }

    private static func checkNames(_ environment: [String: String]) throws(Failure) {
        let known = HostSetting.allCases.map(\.variable)
        for name in environment.keys.sorted()
        where name.hasPrefix(HostSetting.variablePrefix) && !known.contains(name) {
            throw Failure(
                "misconfigured",
                "The variable \(name) is not known. Known are: \(known.joined(separator: ", "))."
            )
        }
    }

    /// Whose value it is that cannot be taken.
    private static func complaint(
        _ setting: HostSetting,
        flags: [HostSetting: HostSetting.Value],
        environment: [String: String],
        file: ConfigurationFile?
    ) -> any Error {
        let text = "takes \(setting.takes)."
        if flags[setting] != nil { return Failure("misconfigured", "The option for '\(setting.rawValue)' \(text)") }
        if environment[setting.variable] != nil {
            return Failure("misconfigured", "The variable \(setting.variable) \(text)")
        }
        return file?.error(at: [setting.rawValue], "'\(setting.rawValue)' \(text)")
            ?? Failure("misconfigured", "'\(setting.rawValue)' \(text)")
    }

    /// Whether the value could be taken.
    private mutating func set(_ setting: HostSetting, _ value: HostSetting.Value) -> Bool {
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
                return false
            }
            self.network = .interfaces(names)
        case (.stateDirectory, .string(let path)) where path.hasPrefix("/"):
            self.stateDirectory = path
        case (.displayName, .string(let name)) where (1...256).contains(name.utf8.count):
            self.displayName = name
        case (.announce, .bool(let announce)):
            self.announce = announce
        case (.startTimeout, .double(let seconds)) where (0.1...300).contains(seconds):
            self.startTimeout = .milliseconds(Int64(seconds * 1000))
        case (.logLevel, .string(let level)):
            guard let level = Logger.Level(rawValue: level) else { return false }
            self.logLevel = level
        case (.uriSchemes, .strings(let schemes)):
            guard schemes.count <= 256, schemes.allSatisfy(Self.isScheme) else { return false }
            self.uriSchemes = schemes.map { $0.lowercased() }
        default:
            return false
        }
        return true
    }

    /// RFC 3986, section 3.1.
    private static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, (1...64).contains(text.utf8.count) else { return false }
        func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }
        return isLetter(first)
            && text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
    }

    /// What differs and cannot be changed while the host runs.
    func needsRestart(to other: HostSettings) -> [HostSetting] {
        var changed: [HostSetting] = []
        if self.port != other.port { changed.append(.port) }
        if self.network != other.network { changed.append(.network) }
        if self.stateDirectory != other.stateDirectory { changed.append(.stateDirectory) }
        if self.announce != other.announce { changed.append(.announce) }
        if self.logLevel != other.logLevel { changed.append(.logLevel) }
        if self.uriSchemes != other.uriSchemes { changed.append(.uriSchemes) }
        return changed
    }
}
