// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The content of the host daemon's configuration file.
package struct HostFile: Decodable, Sendable {
    /// The values of the right types. ``HostSettings/set(_:_:)`` checks the rest.
    package let values: [HostSetting: HostSetting.Value]

    /// Checks that every key is known and has the right type.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: HostSetting.self)
        var values: [HostSetting: HostSetting.Value] = [:]
        for key in container.allKeys { values[key] = try decoder.attempt(nil) { try key.decode(container) } }
        self.values = values
    }
}
