// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import RemoteSystemsIdentity
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
            configuration.applicationID != Diagnosis.service
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

    /// The time that programs have to register with a restarted daemon. They notice its socket at once.
    private static let registrationTime = Duration.seconds(5)

    /// Names the programs that listen already, if this is the host daemon.
    ///
    /// A restarted daemon must not publish a description without these programs before they have registered.
    func expectPrograms() {
        guard let running = self.running, let programs = running.registered else { return }
        programs.expect(
            running.listening.filter {
                $0.application != self.context.configuration.applicationID && $0.application != Diagnosis.service
            }
        )
    }

    /// Drops the expected programs that have not registered in time.
    func awaitExpected(_ programs: ProgramRegistry) async throws {
        let expected = programs.expected
        guard !expected.isEmpty else { return }
        try await self.context.environment.time.sleep(for: Self.registrationTime)
        programs.forget(expected)
        await self.core.publishPrograms()
    }

    /// Asks the host daemon for its statement about this program, which another system can verify.
    ///
    /// - Parameters:
    ///   - audience: the other system.
    ///   - activity: the activity that is handed over.
    /// - Returns: `nil` if there is no host daemon, or it vouches for no programs.
    package func voucher(for audience: SystemID, about activity: UUID) async -> OwnVoucher? {
        guard let place = self.registryPlace, let identity = try? self.context.security().identity else { return nil }
        return await self.registryConnection.voucher(
            for: ApplicationVoucher.Subject(
                application: self.context.configuration.applicationID,
                audience: audience,
                activity: activity
            ),
            by: identity.systemID,
            isExpected: place.exists && self.advertising.value.isRepresented,
            time: self.context.environment.time
        )
    }

    /// This system's id; `nil` if its identity cannot be used.
    package var systemID: SystemID? { try? self.context.security().identity.systemID }

    /// Opens the socket at which programs register, to pass it to another process of this user.
    ///
    /// - Returns: a descriptor opened with `O_PATH`, which the caller closes; `nil` if the host does not accept
    ///   registrations.
    package func openRegistrySocket() -> Int32? {
        self.core.referral == nil ? nil : self.registryPlace?.open()
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
            advertising: self.advertising,
            locator: self.options.hostDaemonLocator,
            current: self.registryConnection
        ) { event in
            switch event {
            case .registered(let isRepresented, let names):
                self.advertised.represented(by: names)
                // Systems of other accounts find the program by its own advertisement only.
                let isRepresented = isRepresented && !self.options.allowsAnyoneNearby
                self.announce(isRepresented && self.options.isDiscoverable, announcement)
                self.advertising.change { $0.isRepresented = isRepresented }
            case .unregistered:
                self.advertised.represented(by: [])
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
