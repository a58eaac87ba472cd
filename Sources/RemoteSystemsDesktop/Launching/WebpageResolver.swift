// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import UserActivities

/// Asks sites which applications may show their pages.
package protocol SiteApproval: Sendable {
    /// Returns what is known from the site about each of the applications. Returns within a few seconds.
    ///
    /// - Parameters:
    ///   - applications: the applications, each as `publisher.application`.
    ///   - host: the host of the site, in lower case.
    func approvals(of applications: [String], by host: String) async -> [String: SiteApprovalResult]
}

/// Whether a site approves an application.
package enum SiteApprovalResult: Sendable, Hashable {
    case approved
    /// It does not approve it, or it is not known: the site may not have been reached. With the reason in a sentence.
    case notApproved(String)
}

/// Finds the installed application that shows a web page: its manifest claims the page's domain, and the site approves
/// it.
package struct WebpageResolver: Sendable {
    /// An application that claims the pages of a host.
    package struct Claimant: Sendable, Hashable {
        /// The application's id.
        package var application: String
        /// The application as sites list it: `publisher.application`; `nil` if its manifest is not signed. Sites can
        /// approve only signed ones.
        package var entry: String?
        package var domains: Set<AssociatedDomain>

        package init(application: String, entry: String?, domains: Set<AssociatedDomain>) {
            self.application = application
            self.entry = entry
            self.domains = domains
        }
    }

    /// The application that shows a page, or why there is none.
    package struct Resolution: Sendable, Hashable {
        /// The application, and how sites list it; `nil` for the browser.
        package var application: String?
        package var entry: String?
        /// Why the applications that claim the page do not show it: one sentence each.
        package var reasons: [String] = []
    }

    private let claimants: @Sendable () -> [Claimant]
    private let sites: any SiteApproval

    /// - Parameters:
    ///   - claimants: returns the installed applications that claim domains.
    ///   - sites: asks the sites.
    package init(claimants: @escaping @Sendable () -> [Claimant], sites: any SiteApproval) {
        self.claimants = claimants
        self.sites = sites
    }

    /// Finds the application that shows a page. Of several approved applications, it is the first by id.
    ///
    /// - Parameter isPermitted: whether an application, by its id, may continue activities.
    package func application(for page: URL, where isPermitted: (String) -> Bool) async -> Resolution {
        guard let host = Self.host(of: page) else { return Resolution() }
        var reasons: [String] = []
        var entries: [String: String] = [:]
        for claimant in self.claimants() where claimant.domains.contains(where: { $0.claims(host) }) {
            let id = claimant.application
            if !isPermitted(id) {
                reasons.append("Hand-off to \(id) is switched off.")
            } else if let entry = claimant.entry {
                entries[id] = entry
            } else {
                reasons.append("\(id) claims \(host), but its manifest is not signed, so no site can approve it.")
            }
        }
        guard !entries.isEmpty else { return Resolution(reasons: reasons) }
        let results = await self.sites.approvals(of: entries.values.sorted(), by: host)
        for (id, entry) in entries.sorted(by: { $0.key < $1.key }) {
            switch results[entry] {
            case .approved: return Resolution(application: id, entry: entry)
            case .notApproved(let reason):
                reasons.append(
                    "\(host) was not found to approve \(id): \(reason) 'remotesystems association verify \(host)' "
                        + "checks it."
                )
            case nil: reasons.append("\(host) was not asked whether it approves \(id).")
            }
        }
        return Resolution(reasons: reasons)
    }

    /// The host of a page that an application may claim; `nil` for another port than the scheme's own, which may be
    /// another site.
    static func host(of page: URL) -> String? {
        let isOwnPort =
            switch page.scheme?.lowercased() {
            case "https": page.port == nil || page.port == 443
            case "http": page.port == nil || page.port == 80
            default: false
            }
        guard isOwnPort, let host = page.host()?.lowercased(), AssociatedDomain.isHost(host) else { return nil }
        return host
    }
}

extension WebpageResolver {
    /// Creates a resolver for the applications that have a manifest on this machine.
    ///
    /// - Parameter registry: the manifests.
    package init(_ registry: ApplicationRegistry, sites: any SiteApproval) {
        self.init(claimants: { registry.claimants }, sites: sites)
    }
}
