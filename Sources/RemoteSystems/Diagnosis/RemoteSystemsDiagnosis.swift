// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport

/// Looks for what would keep this machine from finding others, or others from finding it.
///
/// It changes nothing and makes no account. It asks the network for systems as a watcher does, for two seconds.
public struct RemoteSystemsDiagnosis: Sendable {
    private let local: LocalSystem
    private let port: Int

    /// How long to look for systems, to see whether that works.
    private static let discoveryTime = Duration.seconds(2)

    /// A diagnosis for programs with this configuration.
    ///
    /// - Parameters:
    ///   - configuration: how the program takes part.
    ///   - port: the port on which a host is to listen; 0 for any free one.
    public init(_ configuration: RemoteSystemsConfiguration, port: Int = 0) {
        self.local = LocalSystem(configuration)
        self.port = port
    }

    /// Looks at everything.
    ///
    /// - Returns: the findings, good ones too, in an order to read and mend them in.
    public func run() async -> [DiagnosisFinding] {
        let network = self.local.configuration.network
        // Before this process speaks mDNS itself.
        let responders = MulticastSockets.current()
        var findings = IdentityFindings(now: Date(), facts: IdentityFacts.read(self.local)).all
        let interfaces = InterfaceFacts.current()
        findings.append(NetworkFindings.interfaces(interfaces, network))
        if let multicast = NetworkFindings.multicast(interfaces, network) { findings.append(multicast) }
        for case let avahi as AvahiDiscovery in self.local.sources {
            findings.append(NetworkFindings.avahi(await avahi.selected()))
        }
        findings += await self.discovery()
        if network != .loopback {
            findings.append(NetworkFindings.responders(responders))
        }
        findings.append(await self.listening())
        return findings
    }

    /// What the sources themselves complain of.
    private func discovery() async -> [DiagnosisFinding] {
        var troubles: [DiscoveryTrouble] = []
        for source in self.local.sources {
            let events = source.browse()
            troubles += await withTaskGroup(of: [DiscoveryTrouble].self) { group in
                group.addTask {
                    var troubles: [DiscoveryTrouble] = []
                    for await event in events {
                        switch event {
                        case .trouble(let trouble): troubles.append(trouble)
                        case .recovered(let code): troubles.removeAll { $0.code == code }
                        case .settled: return troubles
                        case .appeared, .changed, .vanished: break
                        }
                    }
                    return troubles
                }
                group.addTask {
                    try? await Task.sleep(for: Self.discoveryTime)
                    return []
                }
                // Whichever is first; the other one, cancelled, gives what it has.
                var found = await group.next() ?? []
                group.cancelAll()
                for await more in group { found += more }
                return found
            }
        }
        return NetworkFindings.discovery(troubles)
    }

    private func listening() async -> DiagnosisFinding {
        do throws(TransportError) {
            try await Listener.check(host: self.local.listeningAddress, port: self.port)
            return NetworkFindings.port(self.port, nil)
        } catch {
            return NetworkFindings.port(self.port, error.message)
        }
    }
}
