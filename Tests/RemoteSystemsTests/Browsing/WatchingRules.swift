// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport

@testable import RemoteSystems

/// The rules of the browser, and the list of one watcher.
@dynamicMemberLookup
struct WatchingRules {
    enum Action {
        case connect(instance: String, endpoints: [Endpoint])
        case disconnect(instance: String)
        case rename(instance: String, to: String)
        case probe(instance: String)
        case emit(RemoteSystemEvent)
    }

    var browser: SystemBrowserStateMachine
    var list: WatcherList

    init(
        filters: [RemoteSystemFilter],
        ownSystem: SystemID,
        sources: Int,
        awaitsRecall: Bool = false,
        enumerationEnds: ContinuousClock.Instant
    ) {
        self.browser = SystemBrowserStateMachine(sources: sources, awaitsRecall: awaitsRecall)
        self.list = WatcherList(
            filters: filters,
            ownSystem: ownSystem,
            origin: ApplicationContext(RemoteSystemsConfiguration(applicationID: "test")),
            enumerationEnds: enumerationEnds
        )
    }

    subscript<Member>(dynamicMember path: KeyPath<SystemBrowserStateMachine, Member>) -> Member {
        self.browser[keyPath: path]
    }

    var excluded: [SystemID: RemoteSystem] { self.list.excluded }
    var nextWakeUp: ContinuousClock.Instant? {
        [self.browser.nextWakeUp, self.list.enumerationEnds].compactMap(\.self).min()
    }

    func isReconnecting(_ instance: String) -> Bool { self.browser.isReconnecting(instance) }
    func isDescribed(_ instance: String) -> Bool { self.browser.isDescribed(instance) }
    func standing(of instance: String) -> Standing.Kind { self.browser.standing(of: instance) }
    func referral(of instance: String) -> SystemBrowserStateMachine.Referral? { self.browser.referral(of: instance) }
    func knows(_ instance: String) -> Bool { self.browser.knows(instance) }

    mutating func seen(
        _ instance: String,
        endpoints: [Endpoint],
        by type: RemoteSystemDiscoveryType,
        standing: Standing.Kind = .sameAccount,
        isConfigured: Bool = false
    ) -> [Action] {
        self.applied(
            self.browser.seen(
                instance,
                endpoints: endpoints,
                by: type,
                standing: standing,
                isConfigured: isConfigured
            )
        )
    }

    mutating func unseen(_ instance: String) -> [Action] { self.applied(self.browser.unseen(instance)) }
    mutating func settled() -> [Action] { self.applied(self.browser.settled()) }

    mutating func recalled(_ processes: KnownProcess...) -> [Action] { self.applied(self.browser.recalled(processes)) }
    mutating func recallEnds() -> [Action] { self.applied(self.browser.recallEnds()) }

    mutating func connected(
        _ instance: String,
        to system: SystemID,
        at endpoint: Endpoint? = nil,
        standing: Standing.Kind = .sameAccount,
        account: AccountID? = nil,
        now: ContinuousClock.Instant = SystemBrowserStateMachineTests.start
    ) -> [Action] {
        let endpoint = endpoint ?? self.browser.instances[instance]?.endpoints.first
        return self.applied(
            self.browser.connected(
                instance,
                to: system,
                at: endpoint,
                standing: standing,
                account: account,
                now: now
            )
        )
    }

    mutating func described(
        _ instance: String,
        _ description: SystemDescription,
        now: ContinuousClock.Instant = SystemBrowserStateMachineTests.start
    ) -> [Action] {
        self.applied(self.browser.described(instance, description, now: now))
    }

    mutating func failed(
        _ instance: String,
        isAuthentic: Bool,
        refusal: String? = nil,
        now: ContinuousClock.Instant,
        jitter: Double
    ) -> [Action] {
        self.applied(
            self.browser.failed(instance, isAuthentic: isAuthentic, refusal: refusal, now: now, jitter: jitter)
        )
    }

    mutating func lost(_ instance: String, orderly: Bool, now: ContinuousClock.Instant) -> [Action] {
        self.applied(self.browser.lost(instance, orderly: orderly, now: now))
    }

    mutating func tick(now: ContinuousClock.Instant) -> [Action] {
        let actions = self.applied(self.browser.tick(now: now))
        return actions + (self.list.tick(now: now).map { [.emit($0)] } ?? [])
    }

    mutating func dropAnonymous() -> [Action] { self.applied(self.browser.drop([.anonymous])) }

    private mutating func applied(_ actions: [SystemBrowserStateMachine.Action]) -> [Action] {
        actions.compactMap { action in
            switch action {
            case .connect(let instance, let endpoints): .connect(instance: instance, endpoints: endpoints)
            case .disconnect(let instance): .disconnect(instance: instance)
            case .rename(let old, let new): .rename(instance: old, to: new)
            case .probe(let instance): .probe(instance: instance)
            case .changed(let system): self.list.changed(system).map { .emit($0) }
            case .settled: self.list.settled().map { .emit($0) }
            case .report(let error): .emit(.error(error))
            }
        }
    }
}
