// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// A discovery source of a browser.
struct BrowsedSource: Sendable {
    /// The position of the source among the account's sources. It identifies the source, whose name may change: an
    /// Avahi source is named after the server that it uses now.
    let position: Int
    let source: any DiscoverySource

    /// The name of an instance that the source found, or of a problem that it reported.
    func key(_ id: some CustomStringConvertible) -> String { "\(self.position)/\(id)" }
}

/// Handling of discovery events.
extension SystemBrowser {
    /// What a browse has reported and not taken back.
    private struct Present {
        var hints: Set<DiscoveryHint.ID> = []
        var problems: Set<DiscoveryProblem.Code> = []
    }

    /// Browses until cancelled. Restarts the browse when anonymous systems become wanted or unwanted.
    @inline(never)
    func keepBrowsing(_ source: BrowsedSource) async {
        var present = Present()
        while !Task.isCancelled {
            let number = self.browsing.value
            // A new browse reports a lasting problem again, and does not report the end of an earlier one.
            for code in present.problems { self.take(.recovered(code), from: source) }
            present = await withTaskGroup(of: Present.self) { group in
                group.addTask { [hints = present.hints] in
                    await self.browse(source, number: number, before: hints)
                }
                await self.browsing.becomes { $0 != number }
                group.cancelAll()
                return await group.next() ?? Present()
            }
        }
    }

    /// Browses once.
    ///
    /// - Parameter before: the hints of the previous browse. Hints that this browse does not find again are handled as
    ///   vanished.
    /// - Returns: the hints and the problems that are present when the browse ends.
    private func browse(
        _ source: BrowsedSource,
        number: Int,
        before: Set<DiscoveryHint.ID>
    ) async -> Present {
        var present = Present(hints: before)
        var missing = before
        for await event in self.events(of: source.source) where number == self.browsing.value {
            switch event {
            case .appeared(let hint), .changed(let hint):
                present.hints.insert(hint.id)
                missing.remove(hint.id)
            case .vanished(let id):
                present.hints.remove(id)
                missing.remove(id)
            case .settled:
                for id in missing { self.take(.vanished(id), from: source) }
                present.hints.subtract(missing)
                missing = []
            case .trouble(let trouble):
                present.problems.insert(trouble.code)
            case .recovered(let code):
                present.problems.remove(code)
            }
            self.take(event, from: source)
        }
        return present
    }

    private func take(_ event: DiscoveryEvent, from browsed: BrowsedSource) {
        let source = browsed.source
        switch event {
        case .appeared(let hint), .changed(let hint):
            let instance = browsed.key(hint.id)
            self.strangers[instance] = self.stranger(hint, from: source)
            let standing = self.standing(of: hint, from: source)
            let isOurs = standing.isAccountProved
            self.noteUnrecognised(
                instance,
                hint,
                isOurs: isOurs,
                at: hint.endpoints.filter(\.isOnLink).map { Endpoint($0, by: source, isOurs: false) }
                    .filter { self.account.network.isProximal($0) }
            )
            guard isOurs || self.isOfAnyone(hint) else { return }
            var endpoints = self.permitted(hint, from: browsed).map { Endpoint($0, by: source, isOurs: isOurs) }
            if !isOurs {
                // An unauthenticated system must not make this process connect to addresses that are not nearby.
                endpoints.removeAll { !self.account.network.isProximal($0) }
            }
            guard !endpoints.isEmpty else { return }
            self.advertisedNames[instance] = hint.instance
            self.perform(
                self.machine.seen(
                    instance,
                    endpoints: endpoints,
                    by: RemoteSystemDiscoveryType(endpoints),
                    standing: standing,
                    isConfigured: source.origin == .configured
                )
            )
        case .vanished(let id):
            let instance = browsed.key(id)
            self.strangers[instance] = nil
            self.unrecognised.remove(instance)
            self.distantHints[instance] = nil
            self.advertisedNames[instance] = nil
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
            if self.errors.updateValue(error, forKey: browsed.key(trouble.code)) == nil, trouble.code.hidesSystems {
                self.flooding.change { $0 += 1 }
            }
            self.report(error)
        case .recovered(let code):
            if self.errors.removeValue(forKey: browsed.key(code)) != nil, code.hidesSystems {
                self.flooding.change { $0 -= 1 }
            }
        }
    }

    /// Starts a browse. Changes of other accounts' systems are followed only if a filter wants them, since a network
    /// may have many.
    private func events(of source: any DiscoverySource) -> DiscoveryEvents {
        guard !self.needs.wantsAnonymous else { return source.browse() }
        let keys = self.linkKeys
        return source.browse { [security] hint in
            Self.carriesTag(of: security.identity, hint) || Self.carriesTag(of: keys, hint)
        }
    }

    private func stranger(_ hint: DiscoveryHint, from source: any DiscoverySource) -> Stranger? {
        guard self.standing(of: hint, from: source) == .anonymous else { return nil }
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

    /// The endpoints of a hint that this system connects to. An announcement proves nothing, so it must not make this
    /// system connect to machines beyond the link on which it can have arrived.
    private func permitted(_ hint: DiscoveryHint, from browsed: BrowsedSource) -> [DiscoveryEndpoint] {
        let source = browsed.source
        guard source.origin == .announced, source.discoveryType == .proximal else { return hint.endpoints }
        let near = hint.endpoints.filter(\.isOnLink)
        let name = browsed.key(hint.id)
        if near.count == hint.endpoints.count {
            self.distantHints[name] = nil
        } else if self.distantHints[name] != nil || self.distantHints.count < BrowserLimits.distantHints {
            self.distantHints[name] = (hint, browsed)
        }
        return Array(near.prefix(BrowserLimits.endpointsOfHint))
    }

    /// Handles the hints with addresses on other networks again, after this machine's networks have changed.
    func reviewDistantHints() {
        for (hint, source) in self.distantHints.values { self.take(.changed(hint), from: source) }
    }

    /// The relation of the hint's system to this one, as far as the hint shows it. A hint with this account's tag or
    /// that of a wanted link, or from the configuration, justifies a connection.
    private func standing(of hint: DiscoveryHint, from source: any DiscoverySource) -> Standing.Kind {
        if source.origin == .configured || Self.carriesTag(of: self.security.identity, hint) { return .sameAccount }
        return Self.carriesTag(of: self.linkKeys, hint) ? .linked : .anonymous
    }

    /// The standings to accept from the system that a hint leads to. Remembered and configured endpoints do not show
    /// whether the system is of this account or a linked one.
    func accepted(for standing: Standing.Kind) -> Set<Standing.Kind> {
        switch standing {
        case .sameAccount, .linked: self.needs.wanted.subtracting([.anonymous])
        case .anonymous: [.sameAccount, .anonymous]
        }
    }

    /// Browses again with the changed links.
    func linksChanged() {
        let keys = self.linkKeys
        guard keys != self.browsedKeys else { return }
        self.browsedKeys = keys
        guard self.needs.wanted.contains(.linked) else { return }
        self.machine.browsesAnew(sources: self.account.sources.count)
        self.browsing.change { $0 += 1 }
    }

    /// The discovery keys of the links whose systems a watcher wants.
    var linkKeys: [DiscoveryKey] {
        guard self.needs.wanted.contains(.linked) else { return [] }
        return self.security.trust.linked.values.compactMap(\.account.discoveryKey).sorted {
            $0.bytes.lexicographicallyPrecedes($1.bytes)
        }
    }

    private static func carriesTag(of keys: [DiscoveryKey], _ hint: DiscoveryHint) -> Bool {
        guard !keys.isEmpty, let version = hint.properties[Presence.versionProperty],
            version.elementsEqual(Presence.version.utf8), let tags = hint.properties[Presence.linkTagsProperty],
            tags.count <= Presence.maxLinkTagBytes
        else { return false }
        let presented = stride(from: 0, to: tags.count, by: DiscoveryKey.tagByteCount)
            .map { Array(tags[$0..<min($0 + DiscoveryKey.tagByteCount, tags.count)]) }
        // One tag for each key, whatever the number of tags in the hint.
        return keys.contains { key in presented.contains(key.discoveryTag(instance: hint.instance)) }
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

extension DiscoveryProblem.Code {
    /// Whether discovery misses systems because of what others advertise.
    fileprivate var hidesSystems: Bool {
        self == .cacheLimit || self == .announcementFlood || self == .tooManyHints
    }
}
