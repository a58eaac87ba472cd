// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A setting of the host daemon: a key of its file and an environment variable.
package enum HostSetting: String, CodingKey, CaseIterable {
    case port, network, stateDirectory, displayName, advertise, startTimeout, logLevel
    case uriPolicy, askProgram, askTimeout
    case mediaPlayers, documentRoots, notifyOffers, notifications, mirroredApplications
    case snoozeMinutes

    /// The value of a setting, by its type.
    package enum Value: Sendable, Hashable {
        case int(Int)
        case double(Double)
        case bool(Bool)
        case string(String)
        case strings([String])
    }

    /// The type of a setting's value.
    package enum Kind { case int, double, bool, string, strings }

    package var kind: Kind {
        switch self {
        case .port, .snoozeMinutes: .int
        case .startTimeout, .askTimeout: .double
        case .advertise, .mediaPlayers, .notifyOffers, .notifications: .bool
        case .network, .stateDirectory, .displayName, .logLevel: .string
        case .uriPolicy, .askProgram, .documentRoots, .mirroredApplications: .strings
        }
    }

    /// The environment variable of the setting.
    package var variable: String {
        Self.variablePrefix
            + self.rawValue.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }

    package static let variablePrefix = "REMOTE_SYSTEMS_HOST_"

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

    /// The allowed values, as a phrase after "takes".
    package var takes: String {
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
