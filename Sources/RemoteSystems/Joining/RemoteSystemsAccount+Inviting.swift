// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsDiscovery
public import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemsAccount {
    /// Invites one system into the account and waits until it has joined.
    ///
    /// ```swift
    /// let account = RemoteSystemsAccount(configuration)
    /// let system = try await account.invite { print($0.uri) }
    /// ```
    ///
    /// Listens on a separate port while it runs. An invitation is valid for 10 minutes, for one system. To withdraw it,
    /// cancel the task. Only a system that holds the account's root key can invite.
    ///
    /// - Parameters:
    ///   - hosts: host names or IP addresses at which the joining system reaches this one, in order of preference.
    ///     Valid count: 1–8. Defaults to `nil`: the addresses of the permitted interfaces.
    ///   - port: the port to listen on; 0 for a free port, which the operating system chooses. Defaults to 0. Valid
    ///     range: 0–65535.
    ///   - show: receives the invitation as soon as it can be used. Runs in the calling task. Its ``Invitation/uri`` is
    ///     secret: the first system that uses it joins the account.
    /// - Returns: the id of the system that joined.
    /// - Throws: ``RemoteSystemError``:
    ///   - ``RemoteSystemError/Code/identity`` with an ``IdentityError`` as its cause:
    ///     ``IdentityError/Code/notAuthority``, ``IdentityError/Code/invitationExpired``, when the account's files
    ///     cannot be written, such as ``IdentityError/Code/diskFull``, or, when a system is revoked, or the root key or
    ///     the account is replaced meanwhile, ``IdentityError/Code/invitationUsed``,
    ///   - ``RemoteSystemError/Code/cannotListen`` when the port cannot be opened,
    ///   - ``RemoteSystemError/Code/localResources`` when the permitted interfaces have no address, or the process
    ///     cannot open enough files,
    ///   - ``RemoteSystemError/Code/invalidArgument`` when the port or the number of hosts is outside its range,
    ///   - ``RemoteSystemError/Code/misuse`` when a host is neither a host name nor an IP address.
    ///
    ///   Also any error of `show`, and `CancellationError`.
    public func invite(
        hosts: [String]? = nil,
        port: Int = 0,
        _ show: (Invitation) async throws -> Void
    ) async throws -> SystemID {
        try ArgumentCheck.check("invite(hosts:port:_:) port", port, in: .listeningPorts)
        try ArgumentCheck.check("invite(hosts:port:_:) number of hosts", hosts?.count, in: 1...8)
        let (store, identity, authority, list) = try await self.withStoreInBackground { store in
            let account = (store, try store.identity(), try store.authority(), try store.revocations())
            try store.checkAdmission()
            return account
        }
        let listener = try await self.listen(port: port, as: identity)
        do {
            let invitation = try self.invitation(into: identity.accountID, hosts: hosts, port: listener.port)
            try await show(invitation)
            return try await self.untilRevocation(after: list, roots: identity.roots) {
                try await self.take(listener, invitation, authority, list, store)
            }
        } catch {
            await listener.stop()
            throw error
        }
    }

    private func listen(port: Int, as identity: SystemIdentity) async throws(RemoteSystemError) -> JoinListener {
        try FileDescriptorBudget.check()
        do {
            return try await JoinListener.start(
                host: nil,
                port: port,
                identity: identity,
                logger: self.context.logger,
                network: self.context.account.network
            )
        } catch {
            throw RemoteSystemError(error)
        }
    }

    private func take(
        _ listener: JoinListener,
        _ invitation: Invitation,
        _ authority: AccountAuthority,
        _ list: RevocationList?,
        _ store: AccountStore
    ) async throws -> SystemID {
        do {
            return try await listener.run(invitation, authority: authority, revocations: list) {
                [queue = self.context.account.accountQueue] system, name in
                try await queue.run {
                    try store.recordJoined(system, in: authority.accountID, invitedAt: list?.position)
                    store.noteAdmission(of: system, named: name, now: Date())
                }
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// Runs an invitation until a system is revoked: the invitation may be in the hands of that system. A new root key
    /// signs the revocation list again, and so ends the invitation, too. A system that was recorded before that, or
    /// before the task was cancelled, is the result.
    ///
    /// - Parameters:
    ///   - list: the revocation list at the start of the invitation.
    ///   - roots: the root keys at the start of the invitation.
    func untilRevocation<Result: Sendable>(
        after list: RevocationList?,
        roots: RootChain,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await body() }
            group.addTask {
                await self.context.account.untilRevocations(differ: list)
                return nil
            }
            guard let result = try await group.next() ?? nil else {
                group.cancelAll()
                do {
                    if let result = try await group.next() ?? nil { return result }
                } catch is CancellationError {}
                try Task.checkCancellation()
                let present = try await self.withStoreInBackground { store in
                    try store.storedIdentity(now: Date())?.roots
                }
                guard let present, present.accountID == roots.accountID else {
                    throw RemoteSystemError(IdentityError.formerInvitation)
                }
                throw RemoteSystemError(
                    present == roots ? IdentityError.withdrawnInvitation : IdentityError.outdatedInvitation
                )
            }
            return result
        }
    }

    private func invitation(
        into account: AccountID,
        hosts: [String]?,
        port: Int
    ) throws(RemoteSystemError) -> Invitation {
        let hosts = hosts ?? Self.ownAddresses(InterfaceFacts.current(), self.context.configuration.network)
        guard !hosts.isEmpty else {
            throw RemoteSystemError.noAddress
        }
        do {
            return try Invitation(
                accountID: account,
                addresses: hosts.prefix(8).map { Invitation.Address(host: $0, port: UInt16(clamping: port)) },
                now: Date()
            )
        } catch {
            throw RemoteSystemError(
                .misuse,
                "A host for the invitation is neither a host name nor an IP address. Omit port and brackets.",
                side: .local,
                cause: error
            )
        }
    }

    /// Returns the addresses at which other systems may reach this machine: real networks before the bridges of
    /// containers and virtual machines, and IPv4 before IPv6.
    static func ownAddresses(
        _ interfaces: [InterfaceFacts],
        _ network: RemoteSystemsConfiguration.Network
    ) -> [String] {
        let allowed = interfaces.filter { interface in
            switch network.kind {
            case .loopback: interface.isLoopback
            case .all: !interface.isLoopback
            case .interfaces(let names): names.contains(interface.name)
            }
        }
        func isBridge(_ interface: InterfaceFacts) -> Bool {
            ["docker", "br-", "veth", "virbr", "podman", "cni", "lxc"].contains { interface.name.hasPrefix($0) }
        }
        let sorted = allowed.filter { !isBridge($0) } + allowed.filter(isBridge)
        if network == .loopback { return sorted.flatMap(\.addresses).filter { $0 == "127.0.0.1" } }
        let addresses = sorted.flatMap(\.addresses)
        return addresses.filter { !$0.contains(":") } + addresses.filter { $0.contains(":") }
    }
}
