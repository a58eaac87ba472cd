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
    /// Whether a manifest of this system is signed.
    var hasSignedManifests = false
    /// The reason why no browser of this system shows web addresses, in a sentence; `nil` if one does.
    var browserProblem: String?
    /// The applications of each system that continue activities, with their types. This system has no name.
    var handlers: [Handler]

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

    /// Compares the publisher of an offer with those of the applications that continue it. Empty if there is none.
    ///
    /// - Parameter isWanted: whether the applications of a system count.
    private func published(_ offer: Offer, on isWanted: (String?) -> Bool) -> [ContinuationFinding] {
        let accepts = self.settings?.acceptsUnsigned(hasSignedManifests: self.hasSignedManifests) ?? false
        let handlers = self.handlers.filter { handler in
            handler.types.contains(offer.type) && isWanted(handler.system)
                && (handler.system != nil || self.settings?.permission(of: handler.application).receiving ?? false)
        }.sorted { ($0.application, $0.system ?? "") < ($1.application, $1.system ?? "") }
        var refused: ContinuationFinding?
        for handler in handlers {
            let isOwnOffer = handler.system != nil
            let comparison = PublisherComparison(
                own: isOwnOffer ? offer.publisher : handler.publisher,
                other: isOwnOffer ? handler.publisher : offer.publisher,
                acceptsUnsigned: accepts,
                isSameAccount: offer.isSameAccount && handler.isSameAccount,
                isBuiltIn: BuiltInApplication.isBuiltIn(handler.application)
                    && BuiltInApplication.isBuiltIn(offer.application)
            )
            guard let refusal = comparison.refusal else {
                return [
                    ContinuationFinding(
                        .publisher,
                        isMet: true,
                        comparison.isBuiltIn
                            ? "The applications belong to RemoteSystems, and need no publisher."
                            : comparison.own.isProven && comparison.other.isProven
                                ? "The applications have the same publisher."
                                : "Developer mode is \(self.settings?.developerMode == .on ? "on" : "automatic"), so "
                                    + "unsigned applications take part on this system."
                    )
                ]
            }
            let receiver =
                "the application \(handler.application.quotedUnlessPlain)" + (handler.system.map { " on \($0)" } ?? "")
            let origin = "the offering application \(offer.application.quotedUnlessPlain)"
            let (message, advice) = comparison.explanation(
                refusal,
                own: isOwnOffer ? origin : receiver,
                other: isOwnOffer ? receiver : origin
            )
            refused = refused ?? ContinuationFinding(.publisher, isMet: false, message, advice: advice)
        }
        guard let refused else { return [] }
        guard offer.hasWebpage else { return [refused] }
        // The browser of this system shows only offers of others.
        if let browserProblem, isWanted(nil) {
            return [
                ContinuationFinding(
                    .publisher,
                    isMet: false,
                    "\(refused.message) \(browserProblem)",
                    advice: refused.advice
                )
            ]
        }
        return [ContinuationFinding(.publisher, isMet: true, "\(refused.message) The browser can show its address.")]
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
                advice: "Run 'remotesystems activities settings' to see why."
            )
        }
        let all = settings.everything
        guard all.sending || all.receiving else {
            return ContinuationFinding(
                .permitted,
                isMet: false,
                "Hand-off is switched off on this system.",
                advice: "Switch it on: 'remotesystems activities settings --sending on --receiving on'."
            )
        }
        guard all.sending && all.receiving else {
            return ContinuationFinding(
                .permitted,
                isMet: true,
                all.receiving
                    ? "This system may continue activities of others, but offers none: sending is off."
                    : "This system may offer its activities, but continues none of others: receiving is off."
            )
        }
        return ContinuationFinding(.permitted, isMet: true, "Hand-off is permitted on this system.")
    }

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
        return ContinuationFinding(
            .offered,
            isMet: false,
            "No system offers \(what).\(OfferedActivities.hint(for: self.wanted, offers: offers))",
            advice: "On the other system, 'remotesystems activities current' lists what is offered, and "
                + "'remotesystems activities settings' whether sending is on. The application must run, and the "
                + "activity must be its current one." + self.linkedRights
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

    private func handledElsewhere(_ offer: Offer) -> ContinuationFinding {
        let able = self.handlers.filter { $0.types.contains(offer.type) }.compactMap { handler in
            handler.system.map { "\(handler.application.quotedUnlessPlain) on \($0)" }
        }
        guard able.isEmpty else {
            return ContinuationFinding(
                .handled,
                isMet: true,
                "It can be continued in \(able.sorted().joined(separator: ", "))."
            )
        }
        if offer.hasWebpage {
            return ContinuationFinding(.handled, isMet: true, "Other systems can open its address in the browser.")
        }
        return ContinuationFinding(
            .handled,
            isMet: false,
            "No application of another system continues activities of the type \(offer.type).",
            advice: "Start or install one there. The host daemon starts one whose manifest names the type in "
                + "'activityTypes'. Or let this application set a web address."
        )
    }

    private func handled(_ offer: Offer) -> ContinuationFinding {
        // A page is shown by an application of its site, or the browser.
        let isPage = offer.type == UserActivity.browsingWeb
        let own = self.handlers.filter { $0.system == nil && $0.types.contains(offer.type) && !isPage }
            .map(\.application)
        let permitted = own.filter { self.settings?.permission(of: $0).receiving ?? false }
        if !permitted.isEmpty {
            return ContinuationFinding(
                .handled,
                isMet: true,
                "It can be continued here in \(permitted.sorted().joined(separator: ", "))."
            )
        }
        if !(self.settings?.everything.receiving ?? false) {
            return ContinuationFinding(
                .handled,
                isMet: false,
                "This system does not continue activities of other systems.",
                advice: "Switch it on: 'remotesystems activities settings --receiving on'."
            )
        }
        if let application = own.min() {
            return ContinuationFinding(
                .handled,
                isMet: false,
                "Hand-off to \(application) is switched off.",
                advice: "Switch it on: 'remotesystems activities settings --application \(application) --receiving on'."
            )
        }
        if offer.hasWebpage {
            guard let browserProblem else {
                return ContinuationFinding(.handled, isMet: true, "The browser can show its address here.")
            }
            return ContinuationFinding(
                .handled,
                isMet: false,
                "\(browserProblem) Only an application of the page's site can show its address.",
                advice: "Install a browser, or choose one: 'xdg-settings set default-web-browser'."
            )
        }
        // Whether an activity of a linked account has an address is not listed.
        let noAddress =
            offer.isSameAccount
            ? "it has no web address" : "the browser does not open addresses of linked accounts"
        return ContinuationFinding(
            .handled,
            isMet: false,
            "No application of this system continues activities of the type \(offer.type), and \(noAddress).",
            advice: "Start such an application, or install it with a manifest that names the type in 'activityTypes' "
                + "('remotesystems host check' reports problems of manifests). The host daemon must run to start it."
        )
    }
}
