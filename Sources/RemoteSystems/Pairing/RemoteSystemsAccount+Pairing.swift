// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Pairing by digits that the persons at two machines compare.
///
/// One machine waits (``waitForPairing(_:name:hosts:port:ready:attemptFailed:confirm:)``), the other one connects to it
/// (``pair(_:host:port:name:confirm:)``). Both show six digits. If the persons at both machines confirm that they are
/// the same, one machine joins the other one's account, or the two accounts are linked.
extension RemoteSystemsAccount {
    /// Pairs with a machine that waits for it.
    ///
    /// ```swift
    /// let result = try await account.pair(.join, host: "192.0.2.7", port: 40123) { prompt in
    ///     await window.asks("Does \(prompt.name) show \(prompt.groupedDigits)?")
    /// }
    /// ```
    ///
    /// Three failed comparisons in an hour lock this method for an hour, for all programs of this user: digits that
    /// differ mean that a third machine is between the two.
    ///
    /// - Parameters:
    ///   - purpose: what the pairing is for. The other machine must have the same purpose. Defaults to
    ///     ``PairingPurpose/join``.
    ///   - host: a host name or an IP address of the waiting machine, without brackets.
    ///   - port: the port on which it waits. Valid range: 1–65535.
    ///   - name: the name that the other person sees. Defaults to `nil`: the name of this system.
    ///   - confirm: shows the digits and returns whether the person confirmed that both machines show the same ones. It
    ///     has 30 seconds. Its task is cancelled when the pairing ends earlier; it must then return. Never return
    ///     `true` without asking.
    /// - Returns: what has changed.
    /// - Throws: ``RemoteSystemError``:
    ///   - ``RemoteSystemError/Code/unreachable`` or ``RemoteSystemError/Code/connectionLost`` when the other machine
    ///     cannot be reached,
    ///   - ``RemoteSystemError/Code/identity`` with an ``IdentityError`` as its cause, such as
    ///     ``IdentityError/Code/pairingDenied``, ``IdentityError/Code/pairingRefused``,
    ///     ``IdentityError/Code/pairingTimedOut``, ``IdentityError/Code/pairingBusy``,
    ///     ``IdentityError/Code/pairingMismatch``, ``IdentityError/Code/pairingFailed``,
    ///     ``IdentityError/Code/pairingLocked``, ``IdentityError/Code/notAuthority`` or
    ///     ``IdentityError/Code/accountInUse``,
    ///   - ``RemoteSystemError/Code/misuse`` when this process pairs under the account already.
    ///
    ///   Also any error of `confirm`, and `CancellationError`.
    public func pair(
        _ purpose: PairingPurpose = .join,
        host: String,
        port: Int,
        name: String? = nil,
        confirm: @escaping @Sendable (PairingPrompt) async throws -> Bool
    ) async throws -> PairingResult {
        try ArgumentCheck.check("pair(_:host:port:name:confirm:) port", port, in: 1...65_535)
        return try await self.pair(purpose, [host], port, name, countsFailures: true, confirm)
    }

    /// Pairs with a machine that ``pairingsNearby(within:)`` found.
    ///
    /// Connects to the place's addresses one after the other, until the machine responds. Failed comparisons do not
    /// count towards the lock of ``pair(_:host:port:name:confirm:)``, because any machine can announce itself:
    /// otherwise a stranger could lock pairing here. A lock that exists applies.
    ///
    /// - Parameters:
    ///   - purpose: as in ``pair(_:host:port:name:confirm:)``.
    ///   - place: where the machine waits.
    ///   - name: as in ``pair(_:host:port:name:confirm:)``.
    ///   - confirm: as in ``pair(_:host:port:name:confirm:)``.
    /// - Returns: what has changed.
    /// - Throws: the errors of ``pair(_:host:port:name:confirm:)``.
    public func pair(
        _ purpose: PairingPurpose = .join,
        at place: PairingPlace,
        name: String? = nil,
        confirm: @escaping @Sendable (PairingPrompt) async throws -> Bool
    ) async throws -> PairingResult {
        try await self.pair(purpose, place.hosts, place.port, name, countsFailures: false, confirm)
    }

    // Not inlined: see Docs/decisions/0008-async-frames.md.
    @inline(never)
    private func pair(
        _ purpose: PairingPurpose,
        _ hosts: [String],
        _ port: Int,
        _ name: String?,
        countsFailures: Bool,
        _ confirm: @escaping @Sendable (PairingPrompt) async throws -> Bool
    ) async throws -> PairingResult {
        try self.beginPairing()
        defer { self.context.account.isPairing.withLock { $0 = false } }
        try await self.withStoreInBackground { store in try store.checkPairing(now: Date()) }
        let intention = try await self.intention(purpose, name: name)
        let present = try await self.withStoreInBackground { store in try store.pairingAccount(now: Date()) }
        try FileDescriptorBudget.check()
        let steps = self.steps(purpose, intention, present, confirm)
        do {
            let result = try await self.pair(hosts, port, intention, steps)
            await self.changeFailures { store throws(IdentityError) in try store.forgetPairingFailures() }
            return result
        } catch {
            if countsFailures, (error as? PairingStop)?.isFailedComparison == true {
                await self.changeFailures { store throws(IdentityError) in
                    try store.recordPairingFailure(now: Date())
                }
            }
            throw Self.pairingError(error, wanting: intention.purpose)
        }
    }

    /// Pairs with the machine at the first address that can be reached.
    @inline(never)
    private func pair(
        _ hosts: [String],
        _ port: Int,
        _ intention: PairingIntention,
        _ steps: PairingSteps<PairingResult>
    ) async throws -> PairingResult {
        let network = self.context.account.network
        var failure: any Error = TransportError(.unreachable, "The machine has no address.", side: .local)
        for host in hosts {
            do {
                return try await PairingCall.pair(
                    host: host,
                    port: port,
                    intention: intention,
                    network: network,
                    steps: steps
                )
            } catch let error as TransportError where error.code == .unreachable {
                failure = error
            }
        }
        throw failure
    }

    /// Notes that this process pairs.
    ///
    /// - Throws: ``RemoteSystemError`` if it does already.
    private func beginPairing() throws(RemoteSystemError) {
        let isFirst = self.context.account.isPairing.withLock { isPairing in
            defer { isPairing = true }
            return !isPairing
        }
        guard isFirst else {
            throw RemoteSystemError(
                .misuse,
                "This program pairs under this account already. Wait for its end: a person compares the digits of one "
                    + "pairing at a time.",
                side: .local,
                canRetry: true
            )
        }
    }

    private func changeFailures(_ change: @escaping @Sendable (AccountStore) throws(IdentityError) -> Void) async {
        do {
            try await self.withStoreInBackground { store in try change(store) }
        } catch {
            self.context.logger.error(
                "The number of failed comparisons was not stored",
                metadata: ["reason": "\(error.message)"]
            )
        }
    }

    /// Waits until another machine has paired with this one, for at most ten minutes.
    ///
    /// Listens on a separate port while it runs, and advertises it on the network under a random name, so that
    /// ``pairingsNearby(within:)`` finds it. Any machine that reaches the port can cause a prompt; one machine at a
    /// time gets one. After an attempt that failed, the method continues to wait.
    ///
    /// - Parameters:
    ///   - purpose: what the pairing is for. The other machine must have the same purpose. Defaults to
    ///     ``PairingPurpose/join``.
    ///   - name: the name that the other person sees. Defaults to `nil`: the name of this system.
    ///   - hosts: host names or IP addresses at which the other machine reaches this one. Valid count: 1–8. Defaults to
    ///     `nil`: the addresses of the permitted interfaces.
    ///   - port: the port to listen on; 0 for a free port, which the operating system chooses. Defaults to 0. Valid
    ///     range: 0–65535.
    ///   - ready: receives the addresses as soon as the other machine can connect. Runs in the calling task.
    ///   - attemptFailed: called when an attempt failed after the digits were shown, or because the other machine wants
    ///     something else or belongs to this machine's account; in these cases at most ten times. Defaults to doing
    ///     nothing.
    ///   - confirm: as in ``pair(_:host:port:name:confirm:)``.
    /// - Returns: what has changed.
    /// - Throws: ``RemoteSystemError``: the errors of ``pair(_:host:port:name:confirm:)`` that occur on this machine;
    ///   ``RemoteSystemError/Code/cannotListen`` when the port cannot be opened;
    ///   ``RemoteSystemError/Code/localResources`` when the permitted interfaces have no address. Also any error of
    ///   `ready`, and `CancellationError`.
    public func waitForPairing(
        _ purpose: PairingPurpose = .join,
        name: String? = nil,
        hosts: [String]? = nil,
        port: Int = 0,
        ready: (PairingPlace) async throws -> Void,
        attemptFailed: @escaping @Sendable (RemoteSystemError) async -> Void = { _ in },
        confirm: @escaping @Sendable (PairingPrompt) async throws -> Bool
    ) async throws -> PairingResult {
        try ArgumentCheck.check("waitForPairing port", port, in: .listeningPorts)
        try ArgumentCheck.check("waitForPairing number of hosts", hosts?.count, in: 1...8)
        try self.beginPairing()
        defer { self.context.account.isPairing.withLock { $0 = false } }
        let intention = try await self.intention(purpose, name: name)
        let present = try await self.withStoreInBackground { store in try store.pairingAccount(now: Date()) }
        let hosts = hosts ?? Self.ownAddresses(InterfaceFacts.current(), self.context.configuration.network)
        guard !hosts.isEmpty else { throw RemoteSystemError.noAddress }
        try FileDescriptorBudget.check()
        let listener: PairingPort
        do {
            listener = try await PairingPort.start(
                port: port,
                logger: self.context.logger,
                network: self.context.account.network
            )
        } catch {
            throw RemoteSystemError(error)
        }
        do {
            try await ready(PairingPlace(hosts: Array(hosts.prefix(8)), port: listener.port))
        } catch {
            await listener.stop()
            throw error
        }
        do {
            let isCarriedOut = Mutex(false)
            var steps = self.steps(purpose, intention, present, confirm)
            steps.carryOut = { [carryOut = steps.carryOut] plan, exchange in
                isCarriedOut.withLock { $0 = true }
                defer { isCarriedOut.withLock { $0 = false } }
                return try await carryOut(plan, exchange)
            }
            return try await self.withinTenMinutes(advertising: listener.port) { [steps] in
                try await listener.run(intention, steps) { error in
                    await attemptFailed(RemoteSystemError(error))
                }
            } unless: {
                isCarriedOut.withLock { $0 }
            }
        } catch {
            await listener.stop()
            throw Self.pairingError(error, wanting: intention.purpose)
        }
    }

    /// Runs a pairing for at most ten minutes, and advertises it. What `body` returns or throws after it was cancelled
    /// is the result, unless it throws `CancellationError`.
    ///
    /// - Parameter isEnding: whether both persons have confirmed. What follows has a limit of its own, and must not be
    ///   cut off, because it may have been stored already.
    func withinTenMinutes<Result: Sendable>(
        advertising port: Int,
        _ body: @escaping @Sendable () async throws -> Result,
        unless isEnding: @escaping @Sendable () -> Bool
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            defer { group.cancelAll() }
            let time = self.context.account.network.time
            group.addTask { try await body() }
            group.addTask {
                try await time.sleep(for: .seconds(600))
                while isEnding() { try await time.sleep(for: .seconds(1)) }
                throw IdentityError.nothingPaired
            }
            group.addTask {
                await self.advertisePairing(port: port)
                return nil
            }
            var end: any Error = CancellationError()
            while let next = await group.nextResult() {
                switch next {
                case .success(let result?): return result
                case .success(nil): break
                case .failure(let error):
                    if !(error is CancellationError) { end = error }
                    group.cancelAll()
                }
            }
            throw end
        }
    }

    /// An error as callers get it.
    private static func pairingError(_ error: any Error, wanting purpose: PairingIntention.Purpose) -> any Error {
        switch error {
        case let error as PairingUnfinished: Self.pairingError(error.cause, wanting: purpose)
        case let error as PairingStop: error.error(wanting: purpose)
        case is IdentityError, is TrustError, is TransportError: RemoteSystemError(error)
        // Those of the caller's closures, among others.
        default: error
        }
    }

    /// Checks that this machine can pair for a purpose, before it looks for the other one.
    package func checkPairing(_ purpose: PairingPurpose, name: String?) async throws(RemoteSystemError) {
        _ = try await self.intention(purpose, name: name)
    }

    private func intention(
        _ purpose: PairingPurpose,
        name: String?
    ) async throws(RemoteSystemError) -> PairingIntention {
        let configured = name ?? self.context.configuration.systemDisplayName
        return try await self.withStoreInBackground { store in
            let name = configured ?? store.systemName() ?? MachineFacts.read().displayName
            // Fails now rather than after the comparison.
            let wanted: PairingIntention.Purpose
            switch purpose {
            case .join(let leavingAccount):
                wanted = try store.pairingPurpose(evenIfShared: leavingAccount, now: Date())
            case .link(let grants):
                _ = try store.identity()
                _ = try store.linkOffer(name: name, granting: grants, now: Date())
                wanted = .link
            }
            try store.checkSpace(for: wanted)
            return try PairingIntention(wanted, name: name)
        }
    }
}

extension RemoteSystemError {
    static var noAddress: RemoteSystemError {
        RemoteSystemError(
            .localResources,
            "This machine has no address on the permitted interfaces, so the other machine could not reach it. "
                + "Connect this machine to a network, or give a host explicitly.",
            side: .local,
            canRetry: true
        )
    }
}

extension IdentityError {
    fileprivate static var nothingPaired: IdentityError {
        IdentityError(.pairingTimedOut, "No machine has paired within ten minutes. Nothing was changed. Try again.")
    }
}
