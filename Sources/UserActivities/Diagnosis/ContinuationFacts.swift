// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// What a system knows about the continuation of an activity, as input for ``findings``. A value type without I/O.
struct ContinuationFacts {
    /// The beginning of an activity's id, or its type; `nil` for any activity.
    var wanted: String?
    /// The user's settings; `nil` if they cannot be read.
    var settings: HandOffSettings?
    /// The other systems that are listed.
    var systems: [System]
    /// Those that the watcher's filters leave out.
    var excluded: [System] = []
    /// The addresses at which systems of the account are announced, but no connection succeeds.
    var unreachable: [String] = []
    /// The number of announcements of other accounts.
    var otherAccounts = 0
    /// The number of announcements with another protocol version.
    var otherVersions = 0
    /// Whether this account is linked with another one.
    var hasLinks = false
    /// The offers of other systems.
    var offers: [Offer]
    /// The offers of this system.
    var ownOffers: [Offer]
    /// Whether the host daemon of this system runs.
    var hasDaemon = true
    /// Whether a manifest of this system is signed.
    var hasSignedManifests = false
    /// The reason why no browser of this system shows web addresses, in a sentence; `nil` if one does.
    var browserProblem: String?
    /// The applications of each system that continue activities, with their types. This system has no name.
    var handlers: [Handler]
    /// The applications of this system that publish no types: they continue none, or receiving is off for them.
    var withoutTypes: Set<String> = []

    struct System {
        var name: String
        /// Whether it was found on the same network, and not by an address.
        var isNear = true
        /// Whether it is of this account, and not of a linked one.
        var isSameAccount = true
    }

    struct Offer {
        var id: String
        var type: String
        var system: String
        var hasWebpage = false
        var application = ""
        var publisher = ApplicationPublisher.unproven(nil)
        var isSameAccount = true
    }

    struct Handler {
        var application: String
        /// The system's name; `nil` for this system.
        var system: String?
        var types: Set<String>
        var publisher = ApplicationPublisher.unproven(nil)
        var isSameAccount = true
    }

    /// The conditions in the order in which they depend on each other. Those after the first one that is not met are
    /// left out.
    var findings: [ContinuationFinding] {
        var findings: [ContinuationFinding] = []
        for check in [self.permitted, self.network, self.found, self.near] {
            findings.append(check)
            guard check.isMet else { return findings }
        }
        // As 'continue' chooses: an offer of a linked account counts only if there is none of this account.
        let wanted = self.offers.filter(self.isWanted)
        let preferred = wanted.first { $0.isSameAccount }
        if let own = self.ownOffers.first(where: self.isWanted), preferred == nil {
            findings += [self.offeredHere(own), self.handledElsewhere(own)]
            return findings + self.published(own, on: { $0 != nil })
        }
        guard let offer = preferred ?? wanted.first else { return findings + [self.notOffered] }
        let choices = wanted.filter { $0.isSameAccount == offer.isSameAccount }
        if choices.count > 1, choices.allSatisfy({ $0.id == offer.id }) {
            return findings + [self.copied(offer, among: choices)]
        }
        let handled = self.handled(offer)
        findings += [ContinuationFinding(.offered, isMet: true, "\(offer.system) offers \(offer.type)."), handled]
        guard handled.isMet else { return findings }
        return findings + self.published(offer, on: { $0 == nil })
    }

    private func isWanted(_ offer: Offer) -> Bool {
        guard let wanted = self.wanted?.lowercased() else { return true }
        return offer.id.hasPrefix(wanted) || offer.type.lowercased() == wanted
    }

    private var permitted: ContinuationFinding {
        guard let settings else {
            return ContinuationFinding(
                .permitted,
                isMet: false,
                "The settings of hand-off cannot be read, so nothing is handed over.",
                advice: "Run 'remotesystems activities settings' to see why.",
                isSwitchedOff: true
            )
        }
        let all = settings.everything
        guard all.sending || all.receiving else {
            return ContinuationFinding(
                .permitted,
                isMet: false,
                "Hand-off is switched off on this system.",
                advice: "Switch it on: 'remotesystems activities settings --sending on --receiving on'.",
                isSwitchedOff: true
            )
        }
        let message =
            switch (all.sending, all.receiving) {
            case (false, _): "This system may continue activities of others, but offers none: sending is off."
            case (_, false): "This system may offer its activities, but continues none of others: receiving is off."
            default: "Hand-off is permitted on this system."
            }
        // What is off for single applications restricts only a direction that is on for all.
        let restrictions = [("Sending", \HandOffSettings.Permission.sending), ("Receiving", \.receiving)].compactMap {
            direction,
            isOn -> String? in
            let applications = settings.applications.filter { !$0.value[keyPath: isOn] }.keys
            guard all[keyPath: isOn], !applications.isEmpty else { return nil }
            return " \(direction) is off for \(Self.list(applications))."
        }
        return ContinuationFinding(.permitted, isMet: true, message + restrictions.joined())
    }

    /// The ids of applications in a sentence.
    static func list(_ applications: some Collection<String>) -> String {
        let rest = applications.count > Self.maxListed ? " and \(applications.count - Self.maxListed) more" : ""
        return applications.sorted().prefix(Self.maxListed).map(\.quotedUnlessPlain).joined(separator: ", ") + rest
    }

    /// The maximum number of applications in a sentence.
    private static let maxListed = 16

    private func copied(_ offer: Offer, among offers: [Offer]) -> ContinuationFinding {
        let systems = Set(offers.map(\.system)).sorted()
        let origins = systems.count > 1 ? systems : offers.map { "\($0.application.quotedUnlessPlain) on \($0.system)" }
        return ContinuationFinding(
            .offered,
            isMet: false,
            "Several activities with the id \(offer.id) are offered, by \(origins.prefix(16).joined(separator: ", ")). "
                + AmbiguousOffer.reason,
            advice: "State the system or the application whose activity you mean: 'remotesystems activities continue "
                + "\(offer.id) --from ORIGIN'. 'remotesystems activities list --json' shows the ids of both."
        )
    }

    private var notOffered: ContinuationFinding {
        let what = self.wanted.map { "the activity '\($0)'" } ?? "an activity"
        let offers = self.offers.map { (type: $0.type, system: $0.system) }
        let hint = OfferedActivities.hint(for: self.wanted, offers: offers)
        var there =
            "On the other system, 'remotesystems activities current' lists what is offered, and "
            + "'remotesystems activities settings' whether sending is on. "
        if self.wanted?.lowercased() == BuiltInApplication.playingMedia {
            there += "A player must play there or be paused, and 'mediaPlayers' be on in the configuration of its "
            there += "host daemon: 'remotesystems activities players' there checks both."
        } else {
            there += "The application must run, and the activity must be its current one."
        }
        there += self.linkedRights
        guard let withheld else {
            return ContinuationFinding(.offered, isMet: false, "No system offers \(what).\(hint)", advice: there)
        }
        return ContinuationFinding(
            .offered,
            isMet: false,
            "No system offers \(what). \(withheld.message)\(hint)",
            advice: "\(withheld.advice) If it is an activity of another system: \(there)"
        )
    }

    /// The activities of this system that may not be sent, and what to do; `nil` if all may be.
    private var withheld: (message: String, advice: String)? {
        guard let settings else { return nil }
        let command = "'remotesystems activities settings"
        guard settings.everything.sending else {
            return (
                "Sending is off on this system, so its own activities are not offered.",
                "If it is an activity of this system, switch sending on: \(command) --sending on'."
            )
        }
        let applications = settings.applications.filter { !$0.value.sending }.keys.sorted()
        guard let first = applications.first else { return nil }
        let isOne = applications.count == 1
        return (
            "Sending is off on this system for \(Self.list(applications)), whose activities are not offered.",
            "If it is an activity of \(isOne ? "this application" : "one of these"), switch sending on: \(command) "
                + "--application \(isOne ? first.quotedUnlessPlain : "ID") --sending on'."
        )
    }

    /// What a system of a linked account has to grant before its activities are listed; empty without one.
    private var linkedRights: String {
        guard self.systems.contains(where: { !$0.isSameAccount }) else { return "" }
        let right = ActivityDescriptor.topic
        return " The activities of a linked account are listed if its owner grants that: 'remotesystems account grant "
            + "ACCOUNT --topic \(right) --service \(right)', with the other rights of the link."
    }

    private func offeredHere(_ offer: Offer) -> ContinuationFinding {
        ContinuationFinding(.offered, isMet: true, "This system offers \(offer.type). Other systems can continue it.")
    }
}
