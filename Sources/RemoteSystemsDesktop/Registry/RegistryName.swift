// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The names of the host daemon on the session bus (`Docs/wire/presence.md`, "Over the session bus").
package enum RegistryName {
    /// The bus name, and the name of the interface.
    package static let bus = "org.remotesystems.Registry1"
    static let path = "/org/remotesystems/Registry1"
    static let method = "OpenSocket"
    /// The daemon on this bus belongs to another system.
    static let otherSystem = "\(bus).Error.OtherSystem"
    /// The daemon does not accept registrations now.
    static let unavailable = "\(bus).Error.Unavailable"

    /// The interface, in D-Bus introspection form.
    static let interface = """
        <node><interface name="\(bus)"><method name="\(method)"><arg name="system" type="s" direction="in"/>\
        <arg name="socket" type="h" direction="out"/></method></interface></node>
        """
}
