// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Recalling and remembering known systems.
extension SystemBrowser {
    /// Tries the remembered processes of each network that is present or appears, until cancelled.
    @inline(never)
    func keepRecalling(_ known: KnownSystems) async {
        known.restart()
        await withDiscardingTaskGroup { group in
            group.addTask {
                guard (try? await self.time.sleep(for: BrowserTimes.recall)) != nil else { return }
                await self.endRecall()
            }
            for await networks in PresentNetworks.changes() {
                let revoked = self.account.revocations?.allSystems ?? []
                let processes = await known.recall(on: networks, revoked: revoked)
                self.perform(self.machine.recalled(processes))
                self.reviewDistantHints()
                // Systems may have been met before the network was known.
                self.rememberPresentSystems()
            }
        }
    }

    /// Tries the processes of known systems again and again while discovery misses systems, until cancelled.
    @inline(never)
    func keepRecallingWhileFlooded(_ known: KnownSystems) async {
        while !Task.isCancelled {
            await self.flooding.becomes { $0 > 0 }
            guard !Task.isCancelled else { return }
            self.perform(self.machine.recalled(Array(known.recallAgain().prefix(BrowserLimits.recalls))))
            try? await self.time.sleep(for: BrowserTimes.recallInterval)
        }
    }

    private func endRecall() { self.perform(self.machine.recallEnds()) }

    /// Remembers the endpoint at which a process that has described itself was reached.
    func remember(_ instance: String, over connection: Connection) {
        self.rememberName(of: instance, over: connection)
        guard let knownSystems, connection.isWithinAccount, self.machine.isMemorable(instance),
            let endpoint = connection.channel.transportPeer.endpoint,
            knownSystems.met(connection.peer.systemID, at: endpoint)
        else { return }
        self.add(.saveKnownSystems(knownSystems))
    }

    private func rememberName(of instance: String, over connection: Connection) {
        guard let knownSystems, connection.isWithinAccount,
            case .connected(let system, let description?) = self.machine.instances[instance]?.phase,
            knownSystems.met(system, named: description.displayName, certificateEnd: connection.peer.expiry)
        else { return }
        self.add(.saveKnownSystems(knownSystems))
    }

    /// Records that a system of this account, as its certificate proves, refused this one as revoked.
    func rememberRefusal(_ error: TransportError) {
        let identity = self.security.identity
        guard let knownSystems, let system = error.systemRefusingAsRevoked(identity.certificate),
            knownSystems.refused(by: system, certificateEnd: identity.certificateValidity.upperBound)
        else { return }
        self.add(.saveKnownSystems(knownSystems))
    }

    func rememberPresentSystems() {
        for (instance, state) in self.instanceStates {
            if let connection = state.attempt?.connection { self.remember(instance, over: connection) }
        }
    }

    func forgetRevokedSystems() {
        guard let knownSystems, knownSystems.forget(self.account.revocations?.allSystems ?? []) else { return }
        self.add(.saveKnownSystems(knownSystems))
    }

    /// Forgets a system's endpoints if another system responds there.
    func forgetIfReplaced(_ system: SystemID, at endpoints: [Endpoint], _ error: any Error) {
        guard let knownSystems, (error as? TransportError)?.code == .peerNotTrusted, endpoints.count == 1,
            knownSystems.forget(system, at: endpoints)
        else { return }
        self.add(.saveKnownSystems(knownSystems))
    }
}

extension SystemBrowserStateMachine {
    /// Whether the instance's endpoint may be remembered. The instance must be a nearby process of this account that
    /// listens at its own port. A diagnosis does not qualify, because it ends soon.
    func isMemorable(_ instance: String) -> Bool {
        guard let known = self.instances[instance], case .connected(_, let description?) = known.phase else {
            return false
        }
        return known.referral == nil && known.standing == .sameAccount && known.discoveryType == .proximal
            && description.application.id != Diagnosis.service
    }
}

extension TransportError {
    /// Returns the system of this account that refused this system's certificate because it was revoked; `nil` for any
    /// other error.
    ///
    /// - Parameter certificate: this system's present certificate, in DER. A late report is about a former one: this
    ///   system may have joined again since.
    func systemRefusingAsRevoked(_ certificate: [UInt8]) -> SystemID? {
        guard self.code == .refused, self.failureCode == FailureCode.revoked.rawValue,
            // An endpoint that is configured or announced does not show the account of the system that answers there.
            self.peerStanding == .sameAccount, self.ownCertificate == certificate
        else { return nil }
        return self.peer
    }
}
