// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemsAccount {
    /// Finds the machines on the network that wait for a pairing.
    ///
    /// Nothing that is found is authenticated. The digits are, once both persons have compared them.
    ///
    /// - Parameter time: the time after which the method returns, if no machine was found. It returns a second after
    ///   the first one was found. Defaults to ten minutes. Valid range: 1 ms–1 h.
    /// - Returns: the places at which machines wait, at most 16, in no particular order; empty if none was found in
    ///   time. Any machine can announce places. Addresses therefore take turns in the list. Of more than 16 addresses,
    ///   a call returns a random selection: call the method again, or let the person enter the address.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidArgument`` when the time or the
    ///   configuration is not valid; `CancellationError`.
    public func pairingsNearby(within time: Duration = .seconds(600)) async throws -> [PairingPlace] {
        try ArgumentCheck.check("pairingsNearby(within:)", time, in: .milliseconds(1) ... .seconds(3600))
        try self.context.configuration.validate()
        let clock = self.context.account.network.time
        let found = FoundPairingPlaces()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingOldest(1))
            for source in self.context.account.sources where source.origin == .announced {
                group.addTask {
                    await Self.browse(source) { place in
                        found.add(place)
                        signal.yield()
                    }
                }
            }
            group.addTask {
                try await clock.sleep(for: time)
                signal.finish()
            }
            var isAnyFound = false
            for await _ in signals where !isAnyFound {
                isAnyFound = true
                group.addTask {
                    try await clock.sleep(for: .seconds(1))
                    signal.finish()
                }
            }
            try Task.checkCancellation()
            return found.inTurns
        }
    }

    /// The maximum number of places that ``pairingsNearby(within:)`` returns.
    package static var maxPairingsNearby: Int { PairingPlaces.maxCount }

    private static func browse(_ source: any DiscoverySource, _ found: (PairingPlace) -> Void) async {
        for await event in source.browse(following: Presence.isPairing) {
            let hint: DiscoveryHint
            switch event {
            case .appeared(let new), .changed(let new): hint = new
            default: continue
            }
            // Anybody can announce anything, so it leads only to addresses of this network.
            let near = hint.endpoints.filter { $0.isOnLink && $0.transport == "ip" }
            guard Presence.isPairing(hint), let port = near.first?.port else { continue }
            let hosts = near.filter { $0.port == port }.prefix(8).map(\.address)
            found(PairingPlace(hosts: hosts, port: port))
        }
    }

    /// Advertises that this machine waits, under a random name, until cancelled.
    func advertisePairing(port: Int) async {
        var random = SystemRandomNumberGenerator()
        let instance = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
        let advertisement = DiscoveryAdvertisement(
            instance: instance,
            port: port,
            properties: [
                Presence.versionProperty: Array(Presence.version.utf8), Presence.pairingProperty: Array("1".utf8),
            ]
        )
        await withTaskGroup(of: Void.self) { group in
            for source in self.context.account.sources where source.origin == .announced {
                group.addTask {
                    do {
                        try await source.advertise(advertisement)
                    } catch {
                        // The other machine can still connect to the address.
                        let reason = "\(error)"
                        self.context.logger.debug("The pairing is not advertised", metadata: ["reason": "\(reason)"])
                    }
                }
            }
        }
    }
}

extension Presence {
    /// The key of a property that is `1` if a machine waits for a pairing at the port. There is no tag, so watchers
    /// ignore the advertisement.
    static let pairingProperty = "p"

    static func isPairing(_ hint: DiscoveryHint) -> Bool {
        hint.properties[Self.pairingProperty]?.elementsEqual("1".utf8) == true
            && hint.properties[Self.tagProperty] == nil
    }
}
