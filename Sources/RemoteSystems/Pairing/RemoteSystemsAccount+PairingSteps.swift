// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

extension RemoteSystemsAccount {
    /// What this side does in a pairing.
    func steps(
        _ purpose: PairingPurpose,
        _ intention: PairingIntention,
        _ account: PairingAccount?,
        _ confirm: @escaping @Sendable (PairingPrompt) async throws -> Bool
    ) -> PairingSteps<PairingResult> {
        // The name of the machine whose digits were compared last. One machine at a time gets a comparison.
        let peerName = Mutex("")
        return PairingSteps(account: account) { comparison in
            peerName.withLock { $0 = comparison.name }
            return try await confirm(PairingPrompt(comparison))
        } carryOut: { plan, exchange in
            switch (plan, purpose) {
            case (.admit, _): try await self.admit(exchange, named: peerName.withLock { $0 })
            case (.join, .join(let leavingAccount)): try await self.join(exchange, evenIfShared: leavingAccount)
            case (.link, .link(let grants)): try await self.link(exchange, grants, name: intention.name)
            case (.join, .link), (.link, .join): throw PairingStop.broken
            }
        }
    }

    // Not inlined, like the methods below: see Docs/decisions/0008-async-frames.md.
    @inline(never)
    private func admit(_ exchange: PairingExchange, named name: String) async throws -> PairingResult {
        let admission = try await self.withStoreInBackground { store in
            PairingAdmission(
                identity: try store.identity(),
                authority: try store.authority(),
                revocations: try store.revocations()
            )
        }
        try await exchange.send(admission.welcome)
        guard case .request(let request) = try await exchange.next() else { throw PairingStop.broken }
        let (accepted, system) = try admission.accept(request, from: exchange.peer, now: Date())
        try await self.withStoreInBackground { store in
            try store.recordJoined(
                system,
                in: admission.accountID,
                invitedAt: admission.revocations?.position
            )
            store.noteAdmission(of: system, named: name, now: Date())
        }
        do {
            try await exchange.send(.accepted(accepted))
            guard case .done = try await exchange.next() else { throw PairingStop.broken }
        } catch {
            throw RemoteSystemError.unconfirmedJoin(system, error)
        }
        return .admitted(system)
    }

    @inline(never)
    private func join(_ exchange: PairingExchange, evenIfShared: Bool) async throws -> PairingResult {
        guard case .welcome(let bytes) = try await exchange.next() else { throw PairingStop.broken }
        let roots = try RootChain(bytes)
        _ = try await self.withStoreInBackground { store in
            try store.checkAdoption(of: roots.accountID, evenIfShared: evenIfShared, now: Date())
        }
        try await exchange.send(try exchange.key.request())
        guard case .accepted(let accepted) = try await exchange.next() else { throw PairingStop.broken }
        let joined = try exchange.key.join(roots, accepted, now: Date())
        let change = try await self.withStoreInBackground { store in
            try store.adopt(joined.identity, revocations: joined.revocations, evenIfShared: evenIfShared, now: Date())
        }
        // The other side only uses this to report success.
        try? await exchange.send(.done)
        return .joined(change)
    }

    @inline(never)
    private func link(_ exchange: PairingExchange, _ grants: Grants, name: String) async throws -> PairingResult {
        let (own, bytes, signature) = try await self.withStoreInBackground { store in
            let own = try store.linkOffer(name: name, granting: grants, now: Date())
            let bytes = try own.encoded()
            return (own, bytes, try store.authority().signature(of: bytes, in: exchange.binding))
        }
        try await exchange.send(.offer(bytes, signature: signature))
        guard case .offer(let received, let proof) = try await exchange.next() else { throw PairingStop.broken }
        let theirs = try LinkOffer(encoded: received, signature: proof, in: exchange.binding)
        // If the link then fails on the other side, this side withdraws it, which would end the present one.
        let present = try await self.withStoreInBackground { store in try store.links() }
        guard present[theirs.account]?.state != .active else {
            throw IdentityError(
                .invalidLink,
                "This account is linked with account \(theirs.account.short) already. To link them again, withdraw the "
                    + "link on one of the machines first ('remotesystems account unlink')."
            )
        }
        let link = try await self.withStoreInBackground { store in try store.link(own, with: theirs, now: Date()) }
        do {
            try await exchange.send(.done)
            guard case .done = try await exchange.next() else { throw PairingStop.broken }
        } catch let stop as PairingStop where stop.isRefusedByPeer {
            // The other machine has not stored the link.
            _ = try await self.withStoreInBackground { store in try store.unlink(theirs.account, now: Date()) }
            throw IdentityError.withdrawnLink(stop)
        } catch {
            throw RemoteSystemError.halfLinked(link, error)
        }
        return .linked(link)
    }
}

extension PairingPrompt {
    fileprivate init(_ comparison: PairingComparison) {
        let effect: Effect =
            switch comparison.plan {
            case .admit: .admitsOther
            case .join: .joinsOther
            case .link: .links
            }
        self.init(digits: comparison.digits, name: comparison.name, effect: effect)
    }
}

extension IdentityError {
    fileprivate static func withdrawnLink(_ cause: PairingStop) -> IdentityError {
        IdentityError(
            .pairingFailed,
            """
            The other machine failed to store the link; it shows the reason. This machine has withdrawn the link, and \
            'remotesystems account links' lists it as withdrawn. Remove the reason there, then pair again.
            """,
            cause: cause
        )
    }
}

extension RemoteSystemError {
    fileprivate static func unconfirmedJoin(_ system: SystemID, _ cause: any Error) -> RemoteSystemError {
        RemoteSystemError(
            .connectionLost,
            "System \(system.short) got a certificate of this account, but did not confirm that it has stored it. "
                + "If it did not, pair again; if you do not trust that machine, revoke \(system.short).",
            side: .network,
            canRetry: true,
            outcome: .unknown,
            cause: cause
        )
    }

    fileprivate static func halfLinked(_ link: AccountLink, _ cause: any Error) -> RemoteSystemError {
        RemoteSystemError(
            .connectionLost,
            "This machine has stored the link with account \(link.account.short), but the other one did not confirm "
                + "that it has. If it has not, withdraw the link ('remotesystems account unlink') and pair again.",
            side: .network,
            canRetry: true,
            outcome: .unknown,
            cause: cause
        )
    }
}
