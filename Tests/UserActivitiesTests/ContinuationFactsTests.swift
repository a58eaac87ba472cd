// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing

@testable import UserActivities

/// Why an activity cannot be continued, one condition after the other.
@Suite(.timeLimit(.minutes(2))) struct ContinuationFactsTests {
    private static let type = "com.example.reading"

    private func facts() -> ContinuationFacts {
        ContinuationFacts(
            wanted: Self.type,
            settings: HandOffSettings(),
            systems: [.init(name: "alpha")],
            offers: [ContinuationFacts.Offer(id: "00ff", type: Self.type, system: "alpha")],
            ownOffers: [],
            handlers: [ContinuationFacts.Handler(application: "com.example.reader", system: nil, types: [Self.type])]
        )
    }

    private func unmet(_ facts: ContinuationFacts) -> ContinuationFinding? {
        let findings = facts.findings
        #expect(findings.dropLast().allSatisfy { $0.isMet })
        guard let last = findings.last, !last.isMet else { return nil }
        #expect(last.advice?.isEmpty == false)
        return last
    }

    @Test func `an activity of another system that an application continues meets all conditions (H-97)`() {
        #expect(
            self.facts().findings.map(\.condition) == [
                .permitted, .network, .found, .near, .offered, .handled, .publisher,
            ]
        )
        #expect(self.unmet(self.facts()) == nil)
    }

    @Test func `hand-off that is switched off, or whose settings are damaged, is the first condition (H-97, X-14)`() {
        var facts = self.facts()
        facts.settings?.everything = HandOffSettings.Permission(sending: false)
        #expect(facts.findings.first?.isMet == true && facts.findings.first?.message.contains("sending is off") == true)
        facts.settings?.everything = HandOffSettings.Permission(sending: false, receiving: false)
        #expect(self.unmet(facts)?.condition == .permitted)
        facts.settings = nil
        #expect(self.unmet(facts)?.condition == .permitted)
    }

    @Test func `nothing on the network, another account and another version are different findings (H-97)`() throws {
        var facts = self.facts()
        facts.systems = []
        let nothing = try #require(self.unmet(facts))
        #expect(nothing.condition == .network && nothing.advice?.contains("same network") == true)
        facts.otherVersions = 1
        let version = try #require(self.unmet(facts))
        #expect(version.condition == .found && version.message.contains("protocol version"))
        facts.otherAccounts = 2
        let account = try #require(self.unmet(facts))
        #expect(account.condition == .found && account.message.contains("other accounts"))
        #expect(account.advice?.contains("one account") == true)
        #expect(account.advice?.contains("doctor ADDRESS") == true)
        #expect(account.advice?.contains("Do not invite") == false)
        facts.hasLinks = true
        #expect(self.unmet(facts)?.advice?.contains("Do not invite a machine of an account that is linked") == true)
        facts.unreachable = ["10.0.0.5:47474"]
        let unreachable = try #require(self.unmet(facts))
        #expect(unreachable.condition == .found && unreachable.advice?.contains("doctor 10.0.0.5:47474") == true)
    }

    @Test func `a system that is not nearby is named, and counts unless the filters leave it out (H-97)`() throws {
        var facts = self.facts()
        facts.systems = [.init(name: "alpha"), .init(name: "beta", isNear: false)]
        #expect(self.unmet(facts) == nil)
        let near = try #require(facts.findings.first { $0.condition == .near })
        #expect(near.message == "Nearby: alpha. Not nearby, but reached by address: beta.")
        facts.systems = []
        facts.excluded = [.init(name: "beta", isNear: false)]
        let distant = try #require(self.unmet(facts))
        #expect(distant.condition == .near && distant.message.contains("left out by the filters: beta"))
        #expect(distant.advice?.contains("same network") == true)
        facts.excluded = [.init(name: "alpha")]
        let filtered = try #require(self.unmet(facts))
        #expect(filtered.condition == .near && filtered.advice == "Check again without filters.")
    }

    @Test func `a system of a linked account is found as one, and has to grant its activities (H-97)`() throws {
        var facts = self.facts()
        facts.systems.append(.init(name: "beta (of Bo)", isSameAccount: false))
        let found = try #require(facts.findings.first { $0.condition == .found })
        #expect(found.message == "Found of this account: alpha. Found of linked accounts: beta (of Bo).")
        facts.offers = []
        #expect(self.unmet(facts)?.advice?.contains("account grant ACCOUNT --topic org.remotesystems.act") == true)
        facts.systems.removeLast()
        #expect(self.unmet(facts)?.advice?.contains("account grant") == false)
    }

    @Test func `without a publisher, nothing is continued on a system of a linked account (H-06, H-97)`() throws {
        var facts = self.facts()
        (facts.ownOffers, facts.offers) = (facts.offers, [])
        facts.handlers[0].system = "beta (of Bo)"
        // Developer mode is on, which is for systems of this account.
        #expect(self.unmet(facts) == nil)
        facts.handlers[0].isSameAccount = false
        #expect(self.unmet(facts)?.condition == .publisher)
    }

    @Test func `an offer of this account is judged before one of a linked account (H-97)`() throws {
        var facts = self.facts()
        var linked = facts.offers[0]
        linked.system = "Aaron (of Bo)"
        linked.isSameAccount = false
        facts.offers.insert(linked, at: 0)
        let offered = try #require(facts.findings.first { $0.condition == .offered })
        #expect(offered.message == "alpha offers com.example.reading.")
        #expect(self.unmet(facts) == nil)
        // What this system offers itself goes before it, too.
        (facts.ownOffers, facts.offers) = ([facts.offers[1]], [linked])
        let own = try #require(facts.findings.first { $0.condition == .offered })
        #expect(own.message.hasPrefix("This system offers "))
        facts.ownOffers = []
        let only = try #require(facts.findings.first { $0.condition == .offered })
        #expect(only.message == "Aaron (of Bo) offers com.example.reading.")
    }

    @Test func `an id that several systems state is not that of one activity (H-97)`() throws {
        var facts = self.facts()
        var copy = facts.offers[0]
        copy.system = "beta"
        copy.type = "com.example.writing"
        facts.offers.insert(copy, at: 0)
        // The type names one of them.
        #expect(self.unmet(facts) == nil)
        for wanted in ["00ff", "00f", nil] {
            facts.wanted = wanted
            let finding = try #require(self.unmet(facts))
            #expect(finding.condition == .offered && finding.message.contains("unless a system copies it"))
            #expect(finding.message.contains("by alpha, beta."))
            #expect(finding.advice?.contains("activities continue 00ff --from ORIGIN") == true)
        }
        // A linked account does not make the choice ambiguous.
        facts.offers[0].isSameAccount = false
        #expect(self.unmet(facts) == nil)
    }

    @Test func `a watcher knows whether it sees nothing, other accounts, or systems that its filters exclude (H-97)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let watcher = UserActivityWatcher(stage.configuration)
            let distant = UserActivityWatcher(stage.configuration, filters: [.discoveryType(.cloud)])
            for one in [watcher, distant] { try await one.start() }
            func last(_ watcher: UserActivityWatcher) async -> ContinuationFinding.Condition? {
                await watcher.findings().last?.condition
            }
            let nothing = await last(watcher)
            #expect(nothing == .network)
            try await stage.appears(try stage.system("Stranger", account: .other))
            try await stage.eventually("the other account is seen") { await last(watcher) == .found }
            try await stage.appears(try stage.system("Desktop"))
            try await stage.eventually("the system is found") { await last(watcher) == .offered }
            try await stage.eventually("the system is excluded") { await last(distant) == .near }
            for one in [watcher, distant] { await one.stop() }
        }
    }

    @Test func `an activity that no system offers is named with those that are offered (H-97)`() throws {
        var facts = self.facts()
        facts.wanted = "com.example.writing"
        let finding = try #require(self.unmet(facts))
        #expect(finding.condition == .offered && finding.message.contains("com.example.reading on alpha"))
        facts.wanted = "com.example.reeding"
        let similar = try #require(self.unmet(facts))
        #expect(similar.message.contains(" Did you mean 'com.example.reading'?"))
        facts.offers = (0..<20).map { .init(id: "00ff\($0)", type: "com.example.type-\($0)", system: "alpha") }
        let many = try #require(self.unmet(facts))
        #expect(many.message.hasSuffix(" and 4 more."))
        facts.wanted = "00F"
        #expect(self.unmet(facts)?.condition != .offered)
    }

    @Test func `without an application, an activity needs a web address (H-97, B-14, B-15)`() {
        var facts = self.facts()
        facts.handlers = []
        #expect(self.unmet(facts)?.condition == .handled)
        #expect(self.unmet(facts)?.message.hasSuffix(", and it has no web address.") == true)
        facts.offers[0].isSameAccount = false
        let linked = self.unmet(facts)?.message
        #expect(linked?.hasSuffix(", and the browser does not open addresses of linked accounts.") == true)
        facts.offers[0].isSameAccount = true
        facts.offers[0].hasWebpage = true
        #expect(self.unmet(facts) == nil)
    }

    @Test func `a web address without a browser here is continued by no browser (H-97, B-14, B-15)`() throws {
        let problem = "No application that opens https: URIs is installed here."
        var facts = self.facts()
        facts.browserProblem = problem
        // An application needs no browser.
        #expect(self.unmet(facts) == nil)
        facts.offers[0].hasWebpage = true
        #expect(self.unmet(facts) == nil)
        let handlers = facts.handlers
        facts.handlers = []
        let handled = try #require(self.unmet(facts))
        #expect(handled.condition == .handled && handled.message.hasPrefix(problem))
        facts.handlers = handlers
        facts.settings?.developerMode = .off
        let published = try #require(self.unmet(facts))
        #expect(published.condition == .publisher && published.message.hasSuffix(problem))
        facts.browserProblem = nil
        #expect(self.unmet(facts) == nil)
        // The browsers of the other systems count for an offer of this one.
        facts.browserProblem = problem
        facts.handlers = []
        (facts.ownOffers, facts.offers) = (facts.offers, [])
        #expect(self.unmet(facts) == nil)
    }

    @Test func `an application for which receiving is off does not continue (H-97, X-14)`() throws {
        var facts = self.facts()
        facts.settings?.applications["com.example.reader"] = HandOffSettings.Permission(receiving: false)
        let finding = try #require(self.unmet(facts))
        #expect(finding.advice?.contains("--application com.example.reader") == true)
        facts.settings = HandOffSettings()
        facts.settings?.everything.receiving = false
        #expect(self.unmet(facts)?.condition == .handled)
    }

    @Test func `the offering system learns which other systems can continue its activity (H-97)`() throws {
        var facts = self.facts()
        facts.ownOffers = facts.offers
        facts.offers = []
        // An application of this system does not count.
        #expect(self.unmet(facts)?.condition == .handled)
        facts.handlers[0].system = "alpha"
        #expect(self.unmet(facts) == nil)
        let handled = facts.findings.first { $0.condition == .handled }
        #expect(handled?.message.contains("com.example.reader on alpha") == true)
        facts.handlers = []
        facts.ownOffers[0].hasWebpage = true
        #expect(self.unmet(facts) == nil)
    }
}
