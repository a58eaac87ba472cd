// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// Where an offered activity can be continued on this system.
///
/// An application that continues activities of the type comes before the browser.
public enum ContinuationChoice: Sendable, Hashable {
    /// One application continues activities of the type. It runs, or the host daemon starts it.
    case application(RemoteSystemApplication)
    /// Several applications continue activities of the type, in the order of their ids. The user decides.
    case applications([RemoteSystemApplication])
    /// No application continues activities of the type, and a browser shows the activity's web address.
    case browser
    /// Nothing on this system continues the activity.
    case none

    /// An application that continues activities of the offer's type.
    struct Candidate: Sendable {
        var application: RemoteSystemApplication
        /// The titles for which the application is chosen among several.
        var titles: Set<String> = []
    }

    /// Chooses among the applications that continue activities of the offer's type: those of the same publisher, then
    /// the only one that names the offer's title.
    ///
    /// - Parameters:
    ///   - acceptsUnsigned: whether applications without a proven publisher take part on this system.
    ///   - preferred: the id of the only application to consider. Defaults to `nil`: all are considered, and then the
    ///     browser.
    init(
        _ offer: UserActivityOffer,
        handlers: [Candidate],
        acceptsUnsigned: Bool,
        preferred: String? = nil
    ) {
        let candidates = handlers.filter { candidate in
            let comparison = PublisherComparison(offer, candidate.application, acceptsUnsigned: acceptsUnsigned)
            return (preferred == nil || candidate.application.id == preferred) && comparison.refusal == nil
        }
        let titled = candidates.filter { candidate in offer.title.map(candidate.titles.contains) ?? false }
        let chosen = (titled.count == 1 ? titled : candidates).map(\.application)
        switch chosen.count {
        case 0: self = offer.hasWebpage && preferred == nil ? .browser : .none
        case 1: self = .application(chosen[0])
        default: self = .applications(chosen)
        }
    }

    /// The reasons why no application that continues activities of the offer's type is chosen: a sentence each.
    ///
    /// - Parameters:
    ///   - withoutTypes: the ids of the applications that publish no types.
    ///   - isPermitted: whether an application, by its id, may continue activities.
    static func reasons(
        against handlers: [Candidate],
        withoutTypes: Set<String> = [],
        for offer: UserActivityOffer,
        acceptsUnsigned: Bool,
        isPermitted: (String) -> Bool
    ) -> [String] {
        guard !handlers.isEmpty else {
            let switchedOff = withoutTypes.filter { !isPermitted($0) }
            return [ContinuationFinding.noHandler(of: offer.activityType, switchedOff: switchedOff)]
        }
        return handlers.compactMap { handler -> String? in
            let id = handler.application.id
            guard isPermitted(id) else { return "Hand-off to \(id) is switched off." }
            let comparison = PublisherComparison(offer, handler.application, acceptsUnsigned: acceptsUnsigned)
            guard let refusal = comparison.refusal else { return nil }
            return comparison.explanation(
                refusal,
                own: "the application \(id)",
                other: "the offering application \(offer.applicationID)"
            ).message
        }
    }
}

extension PublisherComparison {
    /// Compares the publisher of an application of this system with that of an offer.
    init(_ offer: UserActivityOffer, _ application: RemoteSystemApplication, acceptsUnsigned: Bool) {
        self.init(
            own: application.publisher,
            other: offer.publisher,
            acceptsUnsigned: acceptsUnsigned,
            isSameAccount: offer.system.authorizationKind == .sameUser,
            isBuiltIn: BuiltInApplication.areBuiltIn(application.id, offer.applicationID, for: offer.activityType)
        )
    }
}
