// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Attempts to connect to systems whose advertisement does not carry the present tag: see ``UnrecognisedHints``.
extension SystemBrowser {
    /// Records an advertisement for a later attempt, unless it is recognised.
    ///
    /// - Parameter endpoints: those that are nearby. Others would let any device direct connections elsewhere.
    func noteUnrecognised(_ name: String, _ hint: DiscoveryHint, isOurs: Bool, at endpoints: [Endpoint]) {
        guard !isOurs, let version = hint.properties[Presence.versionProperty],
            version.elementsEqual(Presence.version.utf8), let tag = hint.properties[Presence.tagProperty]
        else { return self.unrecognised.remove(name) }
        let identity = self.security.identity
        let isFormer = identity.formerDiscoveryKeys.contains { $0.matches(tag, instance: hint.instance) }
        guard isFormer || self.hasOtherSystems || self.missesLinkedSystems else { return }
        let kind = isFormer ? UnrecognisedHints.Kind.former : .unknown
        guard self.unrecognised.seen(name, at: endpoints, kind, now: self.time.now) else { return }
        self.tryUnrecognisedLater()
    }

    private func tryUnrecognisedLater() {
        guard !self.triesUnrecognised else { return }
        self.triesUnrecognised = true
        self.add(.tryUnrecognised)
    }

    /// Tries the recorded advertisements, one every few seconds, until none is left to try.
    @inline(never)
    func tryUnrecognised() async {
        defer { self.triesUnrecognised = false }
        while let time = self.unrecognised.nextTime(includingUnknown: self.triesUnknownTags) {
            guard (try? await self.time.sleep(until: time)) != nil else { return }
            if let candidate = self.unrecognised.next(now: self.time.now, includingUnknown: self.triesUnknownTags) {
                self.startExchange(with: candidate)
                await self.exchanges.becomes { $0 == 0 }
            }
        }
    }

    /// Whether the account has systems that this one can miss. A machine with the root key may be its only system.
    private var hasOtherSystems: Bool {
        guard self.security.identity.isAuthority else { return true }
        // Read once: any device causes this question with each announcement.
        if let known = self.hasAdmittedSystems { return known }
        let known = (try? self.account.store().joinedSystems().isEmpty) == false
        self.hasAdmittedSystems = known
        return known
    }

    /// Whether unknown tags are tried: while no other system of the account is listed, or none of some linked account,
    /// and always on a machine with the root key, because another such machine may have replaced the discovery key
    /// meanwhile.
    var triesUnknownTags: Bool {
        self.security.identity.isAuthority || self.missesLinkedSystems
            || self.machine.systems.keys.allSatisfy { $0 == self.security.systemID }
    }

    /// Whether no system of some linked account is listed, although a watcher wants such systems. Their account may
    /// have withdrawn the link: its announcements do not carry the link's tag any more.
    private var missesLinkedSystems: Bool {
        guard self.needs.wanted.contains(.linked) else { return false }
        let systems = self.machine.systems.values
        return self.security.trust.linked.contains { id, linked in
            linked.account.discoveryKey != nil && !systems.contains { $0.parts.contains { $0.account == id } }
        }
    }

    /// Connects, and lets both sides exchange what they publish of the account's trust. The system is listed only once
    /// its advertisement carries the present tag.
    @inline(never)
    func exchangeTrust(_ attempt: AttemptQueue.Attempt) async {
        defer { self.exchanges.change { $0 -= 1 } }
        let key = self.security.identity.discoveryKey
        do {
            var connector = try await self.account.connector(
                limits: self.needs.limits,
                timeout: self.needs.connectTimeout,
                logger: self.logger
            )
            connector.accepted = self.accepted(for: .sameAccount)
            connector.opened = { [publisher = self.publisher, opened = connector.opened] connection in
                opened(connection)
                guard let connection = connection as? Connection, connection.isWithinAccount else { return }
                connection.publish(publisher)
            }
            if attempt.isHurried { connector.timeoutLimit = BrowserTimes.hurried }
            let connection = try await connector.connect(
                to: attempt.endpoints,
                expecting: nil,
                hello: Hello(
                    service: Presence.service,
                    targetApplication: nil,
                    application: self.needs.application,
                    limits: self.needs.limits.peerLimits
                ),
                handler: self.requestHandler()
            )
            self.ended(attempt.number, connection)
            await self.account.followTrust(over: connection, for: BrowserTimes.exchange)
            connection.leave()
            let isNew = self.security.identity.discoveryKey != key
            self.logger.debug("Met a system with another tag", metadata: ["isNewKey": "\(isNew)"])
        } catch {
            self.ended(attempt.number, nil)
            // A system of this account has refused this one, perhaps because it was revoked, or one of a linked account
            // that has withdrawn the link. Otherwise it is a system of another account, or none.
            guard let refusal = error as? TransportError, refusal.openStatus == .notAuthorized else { return }
            if let notice = refusal.withdrawal {
                self.account.learnWithdrawal(notice)
            } else if refusal.peerStanding == .linked {
                // Its account grants nothing.
                return
            }
            self.report(refusal, at: attempt.endpoints, from: .sameAccount)
        }
    }
}
