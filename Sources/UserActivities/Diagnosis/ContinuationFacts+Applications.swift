// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// The conditions about the applications: one continues the activity, and has the same publisher.
extension ContinuationFacts {
    // MARK: Handled

    func handledElsewhere(_ offer: Offer) -> ContinuationFinding {
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
        if offer.application == BuiltInApplication.mediaPlayers {
            return ContinuationFinding(
                .handled,
                isMet: false,
                "No other system continues what media players play.",
                advice: "Run the host daemon there, with 'mediaPlayers' on in its configuration. 'remotesystems "
                    + "activities why-not' there states what is missing."
            )
        }
        return ContinuationFinding(
            .handled,
            isMet: false,
            "No application of another system continues activities of the type \(offer.type).",
            advice: "Start or install one there. The host daemon starts one whose manifest names the type in "
                + "'activityTypes'. Or let this application set a web address."
        )
    }

    func handled(_ offer: Offer) -> ContinuationFinding {
        // A page is shown by an application of its site, or the browser.
        let isPage = offer.type == UserActivity.browsingWeb
        let own = self.handlers.filter { $0.system == nil && $0.types.contains(offer.type) && !isPage }
            .map(\.application)
        let permitted = own.filter(self.mayReceive)
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
                advice: "Switch it on: 'remotesystems activities settings --receiving on'.",
                isSwitchedOff: true
            )
        }
        if offer.hasWebpage, self.browserProblem == nil {
            let passedOver = own.min().map { " Hand-off to \($0.quotedUnlessPlain) is switched off." } ?? ""
            return ContinuationFinding(.handled, isMet: true, "The browser can show its address here.\(passedOver)")
        }
        if let switchedOff = self.switchedOff(offer, own) { return switchedOff }
        if offer.hasWebpage, let browserProblem {
            return ContinuationFinding(
                .handled,
                isMet: false,
                "\(browserProblem) Only an application of the page's site can show its address.",
                advice: "Install a browser, or choose one: 'xdg-settings set default-web-browser'."
            )
        }
        let (message, advice) = self.reason(whyUnhandled: offer)
        return ContinuationFinding(.handled, isMet: false, message, advice: advice)
    }

    private func mayReceive(_ application: String) -> Bool {
        self.settings?.permission(of: application).receiving ?? false
    }

    /// The finding about applications of this system for which receiving is off; `nil` if none of them could continue
    /// the offer.
    ///
    /// - Parameter own: those that publish the type.
    private func switchedOff(_ offer: Offer, _ own: [String]) -> ContinuationFinding? {
        if let application = own.min() { return .switchedOff(application) }
        // A program that runs withdraws its types while receiving is off for it.
        let others = self.withoutTypes.filter { !self.mayReceive($0) }
        switch offer.type {
        case UserActivity.browsingWeb: return nil
        case BuiltInApplication.playingMedia:
            return others.contains(BuiltInApplication.mediaPlayers)
                ? .switchedOff(BuiltInApplication.mediaPlayers) : nil
        default: break
        }
        guard let first = others.min() else { return nil }
        let isOne = others.count == 1
        return ContinuationFinding(
            .handled,
            isMet: false,
            ContinuationFinding.noHandler(of: offer.type, switchedOff: others),
            advice: "If \(isOne ? "it" : "one of these") continues the type, switch it on: 'remotesystems activities "
                + "settings --application \(isOne ? first.quotedUnlessPlain : "ID") --receiving on'.",
            isSwitchedOff: true
        )
    }

    private static let startDaemon = "Start it with 'remotesystems host run'"

    /// Why nothing here continues an offer although everything is permitted, and what to do.
    private func reason(whyUnhandled offer: Offer) -> (message: String, advice: String) {
        if !offer.isSameAccount, BuiltInApplication.isBuiltIn(offer.application) {
            return Self.builtInOfLinkedAccount(offer.application)
        }
        // Whether an activity of a linked account has an address is not listed.
        let noAddress =
            offer.isSameAccount
            ? "it has no web address" : "the browser does not open addresses of linked accounts"
        if offer.type == UserActivity.browsingWeb {
            return (
                "A page is continued by its web address only, and \(noAddress).",
                offer.isSameAccount ? "The offering application must set a web address." : Self.continueThere
            )
        }
        if offer.type == BuiltInApplication.playingMedia, offer.isSameAccount { return self.noMediaPlayers }
        let message = "No application of this system continues activities of the type \(offer.type), and \(noAddress)."
        guard self.hasDaemon else {
            return (
                "\(message) The host daemon of this system, which starts installed applications, does not run.",
                "\(Self.startDaemon), or start such an application yourself."
            )
        }
        return (
            message,
            "Start such an application, or install it with a manifest that names the type in 'activityTypes' "
                + "('remotesystems host check' reports problems of manifests)."
        )
    }

    /// Media are continued by the host daemon, which starts a player if none runs.
    private var noMediaPlayers: (message: String, advice: String) {
        guard self.hasDaemon else {
            return (
                "The host daemon of this system, which continues what media players play, does not run.",
                "\(Self.startDaemon), with 'mediaPlayers' on in its configuration."
            )
        }
        return (
            "The host daemon of this system does not continue what media players play: its setting 'mediaPlayers' is "
                + "not on, or it runs without a session bus.",
            "Set 'mediaPlayers' to true in its configuration, and restart it in a desktop session. 'remotesystems "
                + "activities players' checks both."
        )
    }

    private static let continueThere = "Continue it on a system of the account that offers it."

    private static func builtInOfLinkedAccount(_ application: String) -> (message: String, advice: String) {
        (
            "The application \(application.quotedUnlessPlain) belongs to RemoteSystems and has no publisher, so it "
                + "hands over within one account only.",
            Self.continueThere
        )
    }

    // MARK: Publishers

    /// Compares the publisher of an offer with those of the applications that continue it. Empty if there is none.
    ///
    /// - Parameter isWanted: whether the applications of a system count.
    func published(_ offer: Offer, on isWanted: (String?) -> Bool) -> [ContinuationFinding] {
        let accepts = self.settings?.acceptsUnsigned(hasSignedManifests: self.hasSignedManifests) ?? false
        let handlers = self.handlers.filter { handler in
            handler.types.contains(offer.type) && isWanted(handler.system)
                && (handler.system != nil || self.mayReceive(handler.application))
        }.sorted { ($0.application, $0.system ?? "") < ($1.application, $1.system ?? "") }
        var refused: ContinuationFinding?
        for handler in handlers {
            let isOwnOffer = handler.system != nil
            let comparison = PublisherComparison(
                own: isOwnOffer ? offer.publisher : handler.publisher,
                other: isOwnOffer ? handler.publisher : offer.publisher,
                acceptsUnsigned: accepts,
                isSameAccount: offer.isSameAccount && handler.isSameAccount,
                isBuiltIn: BuiltInApplication.areBuiltIn(handler.application, offer.application, for: offer.type)
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
            let (message, advice) = self.explanation(refusal, comparison, offer, handler)
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

    /// Why the publishers of an offer and of an application that continues it do not fit, and what to do.
    private func explanation(
        _ refusal: PublisherComparison.Refusal,
        _ comparison: PublisherComparison,
        _ offer: Offer,
        _ handler: Handler
    ) -> (message: String, advice: String) {
        let receiver =
            "the application \(handler.application.quotedUnlessPlain)" + (handler.system.map { " on \($0)" } ?? "")
        let origin = "the offering application \(offer.application.quotedUnlessPlain)"
        let (own, other) = handler.system == nil ? (receiver, origin) : (origin, receiver)
        if case .notProven = refusal {
            let unsigned =
                "unsigned applications on both systems: 'remotesystems activities settings --developer-mode on'."
            // No manifest could help these.
            if let builtIn = [handler.application, offer.application].first(where: BuiltInApplication.isBuiltIn) {
                guard comparison.isSameAccount else { return Self.builtInOfLinkedAccount(builtIn) }
                return (
                    "The application \(builtIn.quotedUnlessPlain) belongs to RemoteSystems and has no publisher, so it "
                        + "hands over to other applications in developer mode only.",
                    "Permit \(unsigned)"
                )
            }
            // The daemon of this system would have to prove it, whatever the other side lacks.
            if !self.hasDaemon, case .unproven = comparison.own {
                return (
                    "The host daemon of this system does not run, so the publisher of \(own) is not proven.",
                    Self.startDaemon + (comparison.isSameAccount ? ", or permit \(unsigned)" : ".")
                )
            }
        }
        return comparison.explanation(refusal, own: own, other: other)
    }
}
