// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Handling of discovery events.
extension SystemBrowser {
    /// Browses until cancelled. Restarts the browse when anonymous systems become wanted or unwanted.
    func keepBrowsing(_ source: any DiscoverySource) async {
        var seen: Set<DiscoveryHint.ID> = []
        while !Task.isCancelled {
            let number = self.browsing.value
            seen = await withTaskGroup(of: Set<DiscoveryHint.ID>.self) { group in
                group.addTask { [seen] in await self.browse(source, number: number, before: seen) }
                await self.browsing.becomes { $0 != number }
                group.cancelAll()
                return await group.next() ?? []
            }
        }
    }

    /// Browses once.
    ///
    /// - Parameter before: the hints of the previous browse. Hints that this browse does not find again are handled as
    ///   vanished.
    /// - Returns: the hints that are present when the browse ends.
    private func browse(
        _ source: any DiscoverySource,
        number: Int,
        before: Set<DiscoveryHint.ID>
    ) async -> Set<DiscoveryHint.ID> {
        var (seen, missing) = (before, before)
        for await event in self.events(of: source) where number == self.browsing.value {
            switch event {
            case .appeared(let hint), .changed(let hint):
                seen.insert(hint.id)
                missing.remove(hint.id)
            case .vanished(let id):
                seen.remove(id)
                missing.remove(id)
            case .settled:
                for id in missing { self.take(.vanished(id), from: source) }
                seen.subtract(missing)
                missing = []
            case .trouble, .recovered:
                break
            }
            self.take(event, from: source)
        }
        return seen
    }

    private func take(_ event: DiscoveryEvent, from source: any DiscoverySource) {
        // The name depends on the Avahi server, which may become known during the browse.
        let name = source.name
        switch event {
        case .appeared(let hint), .changed(let hint):
            self.strangers["\(name)/\(hint.id)"] = self.stranger(hint, from: source)
            let isOurs = self.isOurs(hint, from: source)
            var endpoints = hint.endpoints.map { Endpoint($0, by: source, isOurs: isOurs) }
            if !isOurs {
                // An unauthenticated system must not make this process connect to addresses that are not nearby.
                endpoints.removeAll { !self.account.network.isProximal($0) }
                guard self.isOfAnyone(hint), !endpoints.isEmpty else { return }
            }
            self.perform(
                self.machine.seen(
                    "\(name)/\(hint.id)",
                    endpoints: endpoints,
                    by: RemoteSystemDiscoveryType(endpoints),
                    standing: isOurs ? .sameAccount : .anonymous
                )
            )
        case .vanished(let id):
            let instance = "\(name)/\(id)"
            self.strangers[instance] = nil
            self.perform(self.machine.unseen(instance))
            self.forgetIfGone(instance)
        case .settled:
            self.perform(self.machine.settled())
        case .trouble(let trouble):
            let error = RemoteSystemWatcherError(
                .discoveryHampered,
                "\(trouble.message) \(trouble.advice)",
                recoversByItself: trouble.recoversByItself
            )
            self.errors["\(name)/\(trouble.code)"] = error
            self.report(error)
        case .recovered(let code):
            self.errors["\(name)/\(code)"] = nil
        }
    }

    /// Starts a browse. Changes of other accounts' systems are followed only if a filter wants them, since a network
    /// may have many.
    private func events(of source: any DiscoverySource) -> DiscoveryEvents {
        guard !self.needs.wantsAnonymous else { return source.browse() }
        return source.browse { [security] hint in Self.carriesTag(of: security.identity, hint) }
    }

    private func stranger(_ hint: DiscoveryHint, from source: any DiscoverySource) -> Stranger? {
        guard !self.isOurs(hint, from: source) else { return nil }
        let version = hint.properties[Presence.versionProperty] ?? []
        return version.elementsEqual(Presence.version.utf8) ? .otherAccount : .otherVersion
    }

    /// Returns what was found but not listed by a watcher.
    func unlisted(for run: WatcherRun) -> RemoteSystemWatcher.Unlisted {
        guard let user = self.users.first(where: { $0.run === run }) else { return RemoteSystemWatcher.Unlisted() }
        let unreported = self.machine.unreported.map { endpoint, refusal in
            (place: "\(endpoint)", refusal: refusal)
        }
        return RemoteSystemWatcher.Unlisted(
            excluded: user.list.excluded.values.sorted { $0.id < $1.id },
            unreachable: unreported.filter { $0.refusal == nil }.map(\.place).sorted(),
            refusals: Dictionary(unreported.compactMap { one in one.refusal.map { (one.place, $0) } }) { $1 },
            otherAccounts: self.strangers.values.count { $0 == .otherAccount },
            otherVersions: self.strangers.values.count { $0 == .otherVersion },
            errors: self.errors.sorted { $0.key < $1.key }.map(\.value)
        )
    }

    /// Whether a hint justifies a connection: it carries this account's tag, or comes from the configuration.
    private func isOurs(_ hint: DiscoveryHint, from source: any DiscoverySource) -> Bool {
        source.origin == .configured || Self.carriesTag(of: self.security.identity, hint)
    }

    private static func carriesTag(of identity: SystemIdentity, _ hint: DiscoveryHint) -> Bool {
        guard let version = hint.properties[Presence.versionProperty], version.elementsEqual(Presence.version.utf8),
            let tag = hint.properties[Presence.tagProperty]
        else { return false }
        return identity.discoveryKey.matches(tag, instance: hint.instance)
    }

    /// Whether a hint of another account justifies a connection: a watcher wants anonymous systems, and the hint allows
    /// it.
    private func isOfAnyone(_ hint: DiscoveryHint) -> Bool {
        guard self.needs.wantsAnonymous, let version = hint.properties[Presence.versionProperty],
            version.elementsEqual(Presence.version.utf8), let key = hint.properties[Presence.anonymousProperty]
        else { return false }
        return key.elementsEqual("1".utf8)
    }
}
