// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsTransport

extension RemoteSystemHost {
    /// Whether other systems of the account can find and reach this host now. ``RemoteSystemsDiagnosis`` says what to
    /// do about a state other than ``RemoteSystemRegistrationState/registered``.
    ///
    /// It is ``RemoteSystemRegistrationState/registered`` only while the announcement is in effect, which takes about a
    /// second after the start: the discovery source has published it and not lost it since. A host that is not
    /// announced (``Options/isDiscoverable``), or that uses ``StaticPeers`` alone, is never registered, although it can
    /// be reached by its address. Of several sources, one is enough.
    public var registration: RemoteSystemRegistrationState { self.registering.current }

    /// The states of ``registration`` as a sequence: the present one, then each change, until ``run()`` has ended.
    ///
    /// Each call makes a sequence of its own. Buffer policy: a reader that is slow gets the newest state and misses the
    /// ones before. A certificate that expires, or that another process has renewed, is noticed within a minute.
    public var registrationStates: some AsyncSequence<RemoteSystemRegistrationState, Never> & Sendable {
        self.registering.states
    }

    /// Calls back with the present state of ``registration``, and then after each change, until ``run()`` has ended.
    ///
    /// The listener is called from a task of the host's own, one call after the other. A listener that is slow misses
    /// states in between, never the last one.
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

    /// Until cancelled.
    func followCertificate() async throws {
        var wasExpired = false
        while true {
            if let identity = try? self.context.security().identity,
                identity.certificateValidity.upperBound <= Date()
            {
                if !wasExpired {
                    self.context.logger.warning(
                        """
                        This system's certificate has expired, so nobody connects to this host. Check the clock; if it \
                        is right, start a system that holds the account's key, or join the account again.
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
