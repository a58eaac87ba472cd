// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
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

    /// Logs a warning when the certificate has expired, and refreshes the registration state. Runs until cancelled.
    func followCertificate() async throws {
        var wasExpired = false
        while true {
            if let identity = try? self.context.security().identity,
                identity.certificateValidity.upperBound <= Date()
            {
                if !wasExpired {
                    self.context.logger.warning(
                        """
                        This system's certificate has expired, so no other system connects to this host. Check the \
                        clock; if it is right, start a system that holds the account's key, or join the account again.
                        """,
                        metadata: ["expired": "\(identity.certificateValidity.upperBound.formatted(.iso8601))"]
                    )
                }
                wasExpired = true
            } else {
                wasExpired = false
            }
            try await self.context.environment.time.sleep(for: self.registering.timeToRefresh)
            self.registering.refresh()
        }
    }
}
