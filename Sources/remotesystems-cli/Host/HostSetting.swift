// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Configuration
import RemoteSystemsDesktop

/// A setting of the host daemon: a key of its file and an environment variable.
enum HostSetting: String, CodingKey, CaseIterable {
    case port, network, stateDirectory, displayName, advertise, startTimeout, logLevel
    case uriPolicy, askProgram, askTimeout
    case mediaPlayers, documentRoots, notifyOffers, notifications, mirroredApplications
    case snoozeMinutes

    /// The value of a setting, by its type.
    enum Value: Sendable, Hashable {
        case int(Int)
        case double(Double)
        case bool(Bool)
        case string(String)
        case strings([String])
    }

    private enum Kind { case int, double, bool, string, strings }

    private var kind: Kind {
        switch self {
        case .port, .snoozeMinutes: .int
        case .startTimeout, .askTimeout: .double
        case .advertise, .mediaPlayers, .notifyOffers, .notifications: .bool
        case .network, .stateDirectory, .displayName, .logLevel: .string
        case .uriPolicy, .askProgram, .documentRoots, .mirroredApplications: .strings
        }
    }

    /// The environment variable of the setting.
    var variable: String {
        Self.variablePrefix
            + self.rawValue.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }

    static let variablePrefix = "REMOTE_SYSTEMS_HOST_"

    // MARK: Reading

    /// Decodes the setting's value in the file.
    ///
    /// - Throws: `DecodingError` if the value has the wrong type.
    func decode(_ container: KeyedDecodingContainer<HostSetting>) throws -> Value {
        switch self.kind {
        case .int: .int(try container.wholeNumber(self))
        case .double: .double(try container.decode(Double.self, forKey: self))
        case .bool: .bool(try container.decode(Bool.self, forKey: self))
        case .string: .string(try container.decode(String.self, forKey: self))
        case .strings: .strings(try container.decode([String].self, forKey: self))
        }
    }

    /// Returns the value from the first source that has the setting.
    func fetch(_ reader: ConfigReader) async throws -> Value? {
        let key = ConfigKey([self.rawValue])
        switch self.kind {
        case .int: return try await reader.fetchInt(forKey: key).map { .int($0) }
        case .double: return try await reader.fetchDouble(forKey: key).map { .double($0) }
        case .bool: return try await reader.fetchBool(forKey: key).map { .bool($0) }
        case .string: return try await reader.fetchString(forKey: key).map { .string($0) }
        case .strings: return try await reader.fetchStringArray(forKey: key).map { .strings($0) }
        }
    }

    /// The allowed values, as a phrase after "takes".
    var takes: String {
        switch self {
        case .port: "a port from 0 to 65535"
        case .network: "\"all\", \"loopback\", or interface names separated by commas"
        case .stateDirectory: "the absolute path of a directory"
        case .displayName: "a name of 1 to 256 bytes, without control characters, line breaks or invisible characters"
        case .advertise, .mediaPlayers, .notifyOffers, .notifications: "true or false"
        case .startTimeout: "seconds from 0.1 to 300"
        case .logLevel: "one of trace, debug, info, notice, warning, error, critical"
        case .uriPolicy:
            "up to 256 rules such as \"player=allow\", \"https=ask\" or \"sms=deny\", each scheme once, \"*\" for all "
                + "others"
        case .askProgram: "the absolute path of a program and up to 63 arguments"
        case .askTimeout: "seconds from 1 to 300"
        case .documentRoots:
            "up to 64 folders such as \"music=/srv/music\", with an absolute path, and a name of up to 64 letters, "
                + "digits, '-' and '_', each name once"
        case .mirroredApplications:
            "up to \(MirrorRules.maxApplications) names of applications or desktop entries, or \"*\" for all"
        case .snoozeMinutes: "minutes from 0 to 43200 (30 days)"
        }
    }
}

extension HostSetting.Value {
    /// The value for swift-configuration.
    var content: ConfigValue {
        switch self {
        case .int(let value): ConfigValue(.int(value), isSecret: false)
        case .double(let value): ConfigValue(.double(value), isSecret: false)
        case .bool(let value): ConfigValue(.bool(value), isSecret: false)
        case .string(let value): ConfigValue(.string(value), isSecret: false)
        case .strings(let value): ConfigValue(.stringArray(value), isSecret: false)
        }
    }
}
