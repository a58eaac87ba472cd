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

    @Test func `what is off for one application is named where everything is permitted (H-97, X-14)`() {
        var facts = self.facts()
        #expect(facts.findings.first?.message == "Hand-off is permitted on this system.")
        facts.settings?.applications = [
            "com.example.a": HandOffSettings.Permission(sending: false),
            "com.example.b": HandOffSettings.Permission(sending: false, receiving: false),
        ]
        let both = "Sending is off for com.example.a, com.example.b. Receiving is off for com.example.b."
        #expect(facts.findings.first?.message == "Hand-off is permitted on this system. \(both)")
        // What is off for all applications is not repeated for one.
        facts.settings?.everything.sending = false
        let message = facts.findings.first?.message
        #expect(message?.hasSuffix(": sending is off. Receiving is off for com.example.b.") == true, "\(message ?? "")")
        #expect(ContinuationFacts.list((10..<30).map { "a.b\($0)" }).hasSuffix("a.b25 and 4 more"))
    }

    @Test func `an activity that is not offered may be one of this system, whose sending is off (H-97, X-14)`() throws {
        var facts = self.facts()
        facts.offers = []
        let nowhere = try #require(self.unmet(facts))
        #expect(nowhere.condition == .offered && !nowhere.message.contains("Sending is off"))
        facts.settings?.applications["com.example.reader"] = HandOffSettings.Permission(sending: false)
        let one = try #require(self.unmet(facts))
        #expect(one.condition == .offered)
        #expect(one.message.contains("Sending is off on this system for com.example.reader, whose activities are not"))
        #expect(one.advice?.contains("settings --application com.example.reader --sending on'.") == true)
        // It may also be one of another system.
        #expect(one.advice?.contains("On the other system, 'remotesystems activities current'") == true)
        facts.settings?.everything.sending = false
        let all = try #require(self.unmet(facts))
        #expect(all.message.contains("Sending is off on this system, so its own activities are not offered."))
        #expect(all.advice?.contains("'remotesystems activities settings --sending on'") == true)
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
        #expect(finding.isSwitchedOff)
        facts.settings = HandOffSettings()
        facts.settings?.everything.receiving = false
        #expect(self.unmet(facts)?.condition == .handled && self.unmet(facts)?.isSwitchedOff == true)
    }

    @Test func `an application that withdrew its types, since receiving is off, is named (H-97, X-14)`() throws {
        var facts = self.facts()
        facts.handlers = []
        facts.withoutTypes = ["com.example.reader", "com.example.viewer"]
        // The settings do not restrict these, so they continue no activities.
        #expect(self.unmet(facts)?.isSwitchedOff == false)
        facts.settings?.applications["com.example.reader"] = HandOffSettings.Permission(receiving: false)
        let finding = try #require(self.unmet(facts))
        #expect(finding.condition == .handled && finding.isSwitchedOff)
        #expect(finding.message.hasSuffix("Receiving is off for com.example.reader."))
        #expect(finding.advice?.contains("settings --application com.example.reader --receiving on'") == true)
        // The browser needs none of them.
        facts.offers[0].hasWebpage = true
        #expect(self.unmet(facts) == nil)
    }

    @Test func `with its application switched off, an activity is shown by the browser (H-97, X-14)`() throws {
        var facts = self.facts()
        facts.settings?.applications["com.example.reader"] = HandOffSettings.Permission(receiving: false)
        facts.offers[0].hasWebpage = true
        #expect(self.unmet(facts) == nil)
        let handled = try #require(facts.findings.first { $0.condition == .handled })
        #expect(handled.message.hasSuffix(" Hand-off to com.example.reader is switched off."))
    }

    @Test func `an error names the application that is switched off, also if it was asked for (B-09, X-14)`() {
        func error(
            in receiver: String? = nil,
            _ finding: ContinuationFinding?,
            _ change: (inout HandOffSettings) -> Void
        ) -> ContinuationError {
            var settings = HandOffSettings()
            change(&settings)
            return ContinuationError(
                notContinuing: Self.type,
                in: receiver,
                settings: settings,
                findings: finding.map { [$0] } ?? []
            )
        }
        let reader = "com.example.reader"
        func isOff(_ settings: inout HandOffSettings) {
            settings.applications[reader] = HandOffSettings.Permission(receiving: false)
        }
        let none = ContinuationFinding(.handled, isMet: false, "None.", advice: "Install one.")
        let chosen = error(in: reader, none, isOff)
        #expect(chosen.code == .disabled && chosen.message.hasPrefix("Hand-off to com.example.reader is switched off."))
        #expect(chosen.message.contains("--application com.example.reader --receiving on"))
        let found = error(.switchedOff(reader), isOff)
        #expect(found.code == .disabled && found.message == chosen.message)
        // Another application than the one that is off.
        let missing = error(in: "com.example.viewer", none, isOff)
        #expect(missing.code == .noHandler && missing.message.contains("com.example.viewer is not installed"))
        #expect(error(none, isOff).code == .noHandler)
        let publisher = ContinuationFinding(.publisher, isMet: false, "Different.")
        #expect(error(publisher) { _ in }.code == .publisherMismatch)
        let all = error(in: reader, none) { $0.everything.receiving = false }
        #expect(all.code == .disabled && all.message == "None. Install one.")
    }

    // MARK: The host daemon and its own applications

    @Test func `without the host daemon of this system, that is the cause (H-97)`() throws {
        var facts = self.facts()
        facts.hasDaemon = false
        // In developer mode, nothing has to be proven.
        #expect(self.unmet(facts) == nil)
        facts.settings?.developerMode = .off
        let publisher = try #require(self.unmet(facts))
        let sentence = "The host daemon of this system does not run, so the publisher of "
        #expect(publisher.condition == .publisher)
        #expect(publisher.message == "\(sentence)the application com.example.reader is not proven.")
        #expect(publisher.advice?.contains("'remotesystems host run'") == true)
        // The same for an activity of this system.
        var own = facts
        own.offers[0].application = "com.example.author"
        (own.ownOffers, own.offers) = (own.offers, [])
        own.handlers[0].system = "alpha"
        #expect(self.unmet(own)?.message == "\(sentence)the offering application com.example.author is not proven.")
        // With the daemon, the program is not the one of its manifest.
        facts.hasDaemon = true
        #expect(self.unmet(facts)?.message.contains("does not run") == false)
        facts.handlers = []
        #expect(self.unmet(facts)?.message.contains("daemon") == false)
        facts.hasDaemon = false
        let handled = try #require(self.unmet(facts))
        #expect(handled.condition == .handled && handled.message.contains("The host daemon of this system"))
        #expect(handled.advice?.hasPrefix("Start it with 'remotesystems host run'") == true)
    }

    /// Facts about what a media player of another system plays.
    private func media() -> ContinuationFacts {
        var facts = self.facts()
        facts.wanted = BuiltInApplication.playingMedia
        facts.offers[0].type = BuiltInApplication.playingMedia
        facts.offers[0].application = BuiltInApplication.mediaPlayers
        facts.handlers = []
        return facts
    }

    @Test func `what a media player plays needs the host daemon and its setting, and no other application (H-97)`()
        throws
    {
        var facts = self.media()
        let off = try #require(self.unmet(facts))
        #expect(off.condition == .handled && off.message.contains("its setting 'mediaPlayers' is not on"))
        #expect(off.advice?.contains("'remotesystems activities players'") == true)
        #expect(off.advice?.contains("manifest") == false)
        facts.hasDaemon = false
        let stopped = try #require(self.unmet(facts))
        #expect(
            stopped.message == "The host daemon of this system, which continues what media players play, does not run."
        )
        facts.hasDaemon = true
        facts.withoutTypes = [BuiltInApplication.mediaPlayers]
        facts.settings?.applications[BuiltInApplication.mediaPlayers] = HandOffSettings.Permission(receiving: false)
        let disabled = try #require(self.unmet(facts))
        #expect(disabled.isSwitchedOff && disabled.advice?.contains("--application org.remotesystems.media-pl") == true)
        facts = self.media()
        (facts.ownOffers, facts.offers) = (facts.offers, [])
        let elsewhere = try #require(self.unmet(facts))
        #expect(elsewhere.condition == .handled && elsewhere.advice?.contains("'mediaPlayers' on") == true)
        facts.ownOffers = []
        #expect(self.unmet(facts)?.advice?.contains("A player must play there or be paused") == true)
    }

    @Test func `media players and browsers hand over within one account only, whatever they lack (H-06, H-97)`() throws
    {
        var facts = self.media()
        facts.offers[0].isSameAccount = false
        let sentence = "has no publisher, so it hands over within one account only."
        let unhandled = try #require(self.unmet(facts))
        #expect(unhandled.condition == .handled && unhandled.message.hasSuffix(sentence))
        facts.handlers = [.init(application: BuiltInApplication.mediaPlayers, types: [BuiltInApplication.playingMedia])]
        let published = try #require(self.unmet(facts))
        #expect(published.condition == .publisher && published.message.hasSuffix(sentence))
        // Within the account, only an application of another author needs developer mode.
        facts.offers[0].isSameAccount = true
        facts.settings?.developerMode = .off
        #expect(self.unmet(facts) == nil)
        facts.offers[0].application = "com.example.player"
        let other = try #require(self.unmet(facts))
        #expect(
            other.message.hasSuffix("in developer mode only.") && other.advice?.contains("--developer-mode on") == true
        )
        facts.offers[0].application = BuiltInApplication.webBrowser + ".firefox"
        facts.offers[0].type = UserActivity.browsingWeb
        facts.wanted = UserActivity.browsingWeb
        facts.offers[0].isSameAccount = false
        #expect(self.unmet(facts)?.message.hasSuffix(sentence) == true)
    }

    @Test func `a page without an address needs one, and no application (H-97, B-14)`() throws {
        var facts = self.facts()
        facts.wanted = UserActivity.browsingWeb
        facts.offers[0].type = UserActivity.browsingWeb
        let own = try #require(self.unmet(facts))
        #expect(own.message == "A page is continued by its web address only, and it has no web address.")
        #expect(own.advice == "The offering application must set a web address.")
        facts.offers[0].isSameAccount = false
        #expect(self.unmet(facts)?.advice == "Continue it on a system of the account that offers it.")
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
