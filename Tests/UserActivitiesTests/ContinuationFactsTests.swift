// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import UserActivities

/// Why an activity cannot be continued, one condition after the other.
@Suite struct ContinuationFactsTests {
    private static let type = "com.example.reading"

    private func facts() -> ContinuationFacts {
        ContinuationFacts(
            wanted: Self.type,
            settings: HandOffSettings(),
            systems: ["alpha"],
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
        #expect(self.facts().findings.map(\.condition) == [.permitted, .found, .offered, .handled, .publisher])
        #expect(self.unmet(self.facts()) == nil)
    }

    @Test func `hand-off that is switched off, or whose settings are damaged, is the first condition (H-97, X-14)`() {
        var facts = self.facts()
        facts.settings?.everything = HandOffSettings.Permission(sending: false, receiving: false)
        #expect(self.unmet(facts)?.condition == .permitted)
        facts.settings = nil
        #expect(self.unmet(facts)?.condition == .permitted)
    }

    @Test func `without another system of the account on the network nothing is found (H-97)`() throws {
        var facts = self.facts()
        facts.systems = []
        let finding = try #require(self.unmet(facts))
        #expect(finding.condition == .found && finding.advice?.contains("doctor") == true)
    }

    @Test func `an activity that no system offers is named with those that are offered (H-97)`() throws {
        var facts = self.facts()
        facts.wanted = "com.example.writing"
        let finding = try #require(self.unmet(facts))
        #expect(finding.condition == .offered && finding.message.contains("com.example.reading on alpha"))
        facts.wanted = "00F"
        #expect(self.unmet(facts) == nil)
    }

    @Test func `without an application, an activity needs a web address (H-97, B-14, B-15)`() {
        var facts = self.facts()
        facts.handlers = []
        #expect(self.unmet(facts)?.condition == .handled)
        facts.offers[0].hasWebpage = true
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
