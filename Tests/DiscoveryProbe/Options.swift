// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsDiscovery

/// The options of the probe.
struct Options {
    enum Command: String { case browse, advertise, select, cycle }

    let command: Command
    var mode = AvahiDiscovery.Mode.automatic
    var interfaces = AvahiDiscovery.Interfaces.all
    var instance = "probe"
    var port = 4000
    var count = 1
    var isVerbose = false
    var properties: [String: [UInt8]] = [:]

    init?(_ arguments: some Sequence<String>) {
        var arguments = Array(arguments)
        guard !arguments.isEmpty, let command = Command(rawValue: arguments.removeFirst()) else { return nil }
        self.command = command
        for argument in arguments {
            if argument == "verbose" {
                isVerbose = true
                continue
            }
            if let separator = argument.firstIndex(of: ":"), !argument[..<separator].contains("=") {
                properties[String(argument[..<separator])] = Array(argument[argument.index(after: separator)...].utf8)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return nil }
            switch parts[0] {
            case "mode" where parts[1] == "daemon": mode = .daemon
            case "mode" where parts[1] == "embedded": mode = .embedded
            case "mode" where parts[1] == "automatic": mode = .automatic
            case "interfaces": interfaces = .only(parts[1].split(separator: ",").map(String.init))
            case "instance": instance = parts[1]
            case "port": port = Int(parts[1]) ?? 0
            case "count": count = Int(parts[1]) ?? 1
            default: return nil
            }
        }
    }
}
