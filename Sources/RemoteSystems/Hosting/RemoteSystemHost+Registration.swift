// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemHost {
    /// Whether other systems of the account can find and reach this host now.
    ///
    /// The state is ``RemoteSystemRegistrationState/registered`` only while the advertisement is in effect: the
    /// discovery source has published it and has not lost it since. This takes about one second after a start. If there
    /// are several discovery sources, one of them is enough. ``RemoteSystemsDiagnosis`` reports what to do about
    /// another state.
    ///
    /// A host that is not advertised (``Options/isDiscoverable``), or that uses only ``StaticPeers``, is never
    /// registered, although it can be reached by its address.
    public var registration: RemoteSystemRegistrationState { self.registering.current }

    /// The states of ``registration`` as a sequence: the present one, then each change, until ``run()`` ends.
    ///
    /// Each access returns a new sequence. Buffer policy: a slow reader receives the newest state and misses earlier
    /// ones. An expired certificate, or one that another process has renewed, is noticed within one minute.
    public var registrationStates: some AsyncSequence<RemoteSystemRegistrationState, Never> & Sendable {
        self.registering.states
    }

    /// Registers a callback for the present state of ``registration`` and for each change, until ``run()`` ends.
    ///
    /// - Parameter listener: receives the state. The host calls it from its own task, one call at a time. A slow
    ///   callback misses states in between, never the last one.
    /// - Returns: a registration that removes the callback. It may be discarded.
    @discardableResult
    public func onRegistrationChanged(
        _ listener: @escaping @Sendable (RemoteSystemRegistrationState) -> Void
    ) -> ListenerRegistration {
        let (states, id) = self.registering.observe()
        Task(executorPreference: self.context.environment.taskExecutor) {
            for await state in states { listener(state) }
        }
        return ListenerRegistration { [weak registering = self.registering] in registering?.remove(id) }
    }

    /// Logs a warning when the certificate ends soon or has expired, and refreshes the registration state. Runs until
    /// cancelled.
    func followCertificate() async throws {
        var reminder = CertificateReminder()
        while true {
            if let identity = try? self.context.security().identity {
                let end = identity.certificateValidity.upperBound
                self.log(reminder.notice(of: end, at: Date()), of: end, isAuthority: identity.isAuthority)
            }
            try await self.context.environment.time.sleep(for: self.registering.timeToRefresh)
            self.registering.refresh()
        }
    }

    private func log(_ notice: CertificateReminder.Notice?, of end: Date, isAuthority: Bool) {
        switch notice {
        case nil: return
        case .ending where isAuthority, .expired where isAuthority:
            self.context.logger.warning(
                """
                This system's certificate was not renewed, although the account's root key is on this machine. The \
                renewal is tried again every minute. Check the clock, and that the state directory is writable. Once \
                the certificate has expired, no other system connects to this host.
                """,
                metadata: ["end": "\(end.formatted(.iso8601))"]
            )
        case .ending(let days):
            self.context.logger.warning(
                """
                This system's certificate ends soon, and was not renewed. It is renewed by itself when this machine \
                connects to the one with the account's root key: run both on one network, with a host on that machine \
                and a host daemon or a watcher on this one. Otherwise other systems refuse this one from then on.
                """,
                metadata: ["days": "\(days)", "end": "\(end.formatted(.iso8601))"]
            )
        case .expired:
            self.context.logger.warning(
                """
                This system's certificate has expired, so no other system connects to this host. Check the clock; if \
                it is right, join the account again: 'remotesystems account invite' on the machine with the account's \
                root key, then 'remotesystems account join' here. This machine keeps its id.
                """,
                metadata: ["expired": "\(end.formatted(.iso8601))"]
            )
        }
    }
}
