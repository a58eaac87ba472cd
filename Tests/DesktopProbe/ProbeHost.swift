// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop

/// A host on the loopback interface that opens URIs with the desktop's handlers. Prints its port, then the schemes it
/// offers.
enum ProbeHost {
    static func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        var configuration = RemoteSystemsConfiguration(
            applicationID: RemoteSystemHost.machineApplicationID,
            network: .loopback,
            discovery: []
        )
        configuration.transport.helloTimeout = .seconds(10)
        var policy = URISchemePolicy.standard
        for scheme in Self.list(environment["PROBE_ALLOW"]) { policy.rules[scheme] = .allow }
        for scheme in Self.list(environment["PROBE_ASK"]) { policy.rules[scheme] = .ask }
        switch environment["PROBE_ANSWER"] {
        case "yes": policy.ask = { _ in true }
        case "no": policy.ask = { _ in false }
        case "unasked": policy.ask = { _ in throw CancellationError() }
        case "never":
            policy.ask = { _ in
                Record.say("asked")
                // The test ends this process; the sleep only keeps it alive.
                try? await Task.sleep(for: .seconds(60))
                Record.say("answered")
                return true
            }
        default: break
        }
        var options = RemoteSystemHost.Options()
        let launcher = await DesktopURILauncher(policy: policy)
        options.launchURIProvider = launcher
        let host = RemoteSystemHost(configuration, services: [], options: options)
        async let running: Void = host.run()
        Record.say("\(try await host.port)")
        Record.say(launcher.supportedURISchemes.joined(separator: " "))
        try await running
    }

    private static func list(_ text: String?) -> [String] {
        (text ?? "").split(separator: " ").map(String.init)
    }
}
