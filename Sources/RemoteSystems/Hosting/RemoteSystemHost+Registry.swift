// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization

/// Registration of programs with the host daemon of their machine (`Docs/decisions/0023-local-registry.md`).
extension RemoteSystemHost {
    /// The place where this host registers, or accepts registrations; `nil` for a host that does neither.
    ///
    /// A simulated host does neither, since it has no daemon beside it. A diagnosis does neither, since it checks its
    /// own advertisement.
    static func registryPlace(
        _ configuration: RemoteSystemsConfiguration,
        _ running: RunningApplications?
    ) -> RegistryPlace? {
        guard let running, configuration.environment.network.isOfSockets, configuration.environment.identity == nil,
            configuration.applicationID != DiagnosisService.name
        else { return nil }
        return RegistryPlace(running)
    }

    /// Waits with the advertisement until the daemon has responded, if there is one.
    func expectDaemon() {
        guard self.core.referral == nil, !self.options.allowsAnyoneNearby, self.registryPlace?.exists == true else {
            return
        }
        self.advertising.change { $0.isRepresented = true }
    }

    /// Keeps this program registered with the host daemon of its machine, until cancelled.
    func keepRegistered() async throws {
        guard self.core.referral == nil, let place = self.registryPlace else { return }
        let publications = await self.core.publications
        let announcement = Mutex<UInt64?>(nil)
        let client = RegistryClient(
            place: place,
            context: self.context,
            publish: { publications?.publish(to: .local, on: $0) },
            advertising: self.advertising
        ) { event in
            switch event {
            case .registered(let isRepresented):
                // Systems of other accounts find the program by its own advertisement only.
                let isRepresented = isRepresented && !self.options.allowsAnyoneNearby
                self.announce(isRepresented && self.options.isDiscoverable, announcement)
                self.advertising.change { $0.isRepresented = isRepresented }
            case .unregistered:
                self.advertising.change { $0.isRepresented = false }
                self.announce(false, announcement)
            }
        }
        defer { self.announce(false, announcement) }
        try await client.run()
    }

    /// Records whether other systems find this host through the daemon.
    private func announce(_ isFound: Bool, _ announcement: borrowing Mutex<UInt64?>) {
        announcement.withLock { id in
            if let old = id.take() { self.registering.endAnnouncement(old) }
            guard isFound else { return }
            let new = self.registering.beginAnnouncement()
            self.registering.advertisement(new, isInEffect: true)
            id = new
        }
    }
}
