// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import UserActivities
import WebAssociations
import WebAssociationsHTTP

/// The claims of this machine's applications on web pages, as `activities why-not` explains them.
struct WebpageClaims {
    /// A claim, and whether the site approves it.
    struct Finding: Sendable {
        var isMet: Bool
        var message: String
        var advice: String?
    }

    /// The maximum number of sites that are asked. Each is asked at the same time.
    private static let maxSites = 8

    private let claimants: [WebpageResolver.Claimant]
    private let verifier: AssociationVerifier

    init(_ configuration: RemoteSystemsConfiguration) {
        self.claimants =
            ApplicationRegistry(
                stateDirectory: configuration.stateDirectory,
                logger: configuration.logger
            ).claimants
        self.verifier = AssociationVerifier(configuration, makeClient: HTTPSAssociationClient.make)
    }

    /// Asks the sites that are claimed.
    func findings() async -> [Finding] {
        let hosts = Set(self.claimants.flatMap(\.domains).filter { !$0.isWildcard }.map(\.host)).sorted()
            .prefix(Self.maxSites)
        let said = await withTaskGroup(of: (String, [AssociationCache.Entry]).self) { group in
            for host in hosts {
                let entries = self.claimants.filter { $0.domains.contains { $0.claims(host) } }.compactMap(\.entry)
                group.addTask { (host, await self.verifier.verify(entries, by: host)) }
            }
            return await group.reduce(into: [String: [AssociationCache.Entry]]()) { $0[$1.0] = $1.1 }
        }
        return self.claimants.sorted { $0.application < $1.application }.flatMap { claimant in
            claimant.domains.sorted { $0.description < $1.description }.map { Self.finding(claimant, $0, said) }
        }
    }

    private static func finding(
        _ claimant: WebpageResolver.Claimant,
        _ domain: AssociatedDomain,
        _ said: [String: [AssociationCache.Entry]]
    ) -> Finding {
        guard let application = claimant.entry else {
            return Finding(
                isMet: false,
                message:
                    "\(claimant.application) claims \(domain.shown), but its manifest is not signed, so no site can "
                    + "approve it. The browser shows the pages."
            )
        }
        guard !domain.isWildcard else {
            return Finding(
                isMet: true,
                message: "\(claimant.application) claims \(domain.shown). Each host is asked when one of its pages is "
                    + "continued."
            )
        }
        guard let entry = said[domain.host]?.first(where: { $0.application == application }) else {
            return Finding(
                isMet: true,
                message: "\(claimant.application) claims \(domain.shown). The site was not asked now.",
                advice: "'remotesystems association verify \(domain.host)' asks it."
            )
        }
        guard let failure = entry.failure else {
            return Finding(
                isMet: true,
                message: "\(claimant.application) shows the pages of \(domain.shown), which approves it."
            )
        }
        return Finding(
            isMet: false,
            message: "\(claimant.application) claims \(domain.shown), which was not found to approve it: "
                + "\(failure.message) The browser shows the pages.",
            advice: "'remotesystems association verify \(domain.host) --application \(application)' checks it again."
        )
    }
}

extension AssociatedDomain {
    /// The domain as people read it.
    fileprivate var shown: String { self.isWildcard ? "the hosts below \(self.host)" : self.host }
}
