// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Configuration
import RemoteSystemsDesktop

extension HostSetting {
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
