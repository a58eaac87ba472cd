// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Starting attempts to connect.
extension SystemBrowser {
    /// Starts an attempt to connect, or queues it.
    func start(attempt number: Int, to instance: String, _ endpoints: [Endpoint]) {
        let cause = self.machine.cause(of: instance)
        let attempt = AttemptQueue.Attempt(
            instance: instance,
            name: self.advertisedNames[instance],
            number: number,
            endpoints: endpoints,
            hints: cause.isForeign ? [] : self.machine.hints(among: endpoints, of: instance),
            cause: cause
        )
        if case .loss = attempt.cause, let started = self.attemptQueue.startAtOnce(attempt, now: self.time.now) {
            return self.add(.presence(started))
        }
        self.attemptQueue.add(attempt)
    }

    /// Queues an attempt to exchange trust. It waits its turn as any other attempt at an advertised address.
    func startExchange(with candidate: UnrecognisedHints.Candidate) {
        self.nextAttempt += 1
        self.exchanges.change { $0 += 1 }
        self.attemptQueue.add(
            AttemptQueue.Attempt(
                instance: candidate.name,
                number: self.nextAttempt,
                endpoints: candidate.endpoints,
                cause: .hint,
                purpose: .exchangeOfTrust
            )
        )
        self.startAttempts()
    }

    /// Starts the attempts that may start now.
    func startAttempts() {
        while let next = self.attemptQueue.next(now: self.time.now) {
            if next.purpose == .exchangeOfTrust {
                self.add(.exchangeTrust(next))
                self.add(.releaseSlowAttempt(next.number))
                continue
            }
            guard self.instance(of: next.number, next.instance) != nil else {
                // The instance is gone.
                self.attemptQueue.ended(next.number, now: self.time.now)
                continue
            }
            self.add(.presence(next))
            self.add(.releaseSlowAttempt(next.number))
        }
        self.armWakeUp()
    }

    /// Stops counting an attempt that takes long.
    func release(_ attempt: Int) {
        self.attemptQueue.release(attempt)
        self.startAttempts()
    }

    /// Handles the end of an attempt.
    ///
    /// - Parameter connection: the connection that was opened; `nil` if the attempt failed.
    func ended(_ attempt: Int, _ connection: Connection?) {
        let system = connection.flatMap { $0.isWithinAccount ? $0.peer.systemID : nil }
        self.attemptQueue.ended(attempt, found: system, now: self.time.now)
        self.startAttempts()
    }
}

extension SystemBrowserStateMachine {
    /// Why an attempt to connect to an instance is made.
    func cause(of name: String) -> AttemptQueue.Cause {
        guard let instance = self.instances[name] else { return .hint }
        if case .reconnecting = instance.phase { return .loss }
        if let referral = instance.referral { return .referral(referral.system) }
        // An instance that was authenticated may be advertised at other addresses later.
        let isKnown =
            instance.isConfigured || instance.isRemembered
            || instance.authenticated.map { instance.endpoints.contains($0) } ?? false
        return isKnown ? .known : .hint
    }

    /// Those of an instance's endpoints that an advertisement names and at which the process was not authenticated.
    /// They may belong to any machine.
    func hints(among endpoints: [Endpoint], of name: String) -> [Endpoint] {
        // Referrals lead to the authenticated address of their host.
        guard let instance = self.instances[name], !instance.isConfigured, !instance.isRemembered,
            instance.referral == nil
        else { return [] }
        return endpoints.filter { $0 != instance.authenticated }
    }
}
