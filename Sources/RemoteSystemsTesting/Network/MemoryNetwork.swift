// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A network in memory: sites with their own addresses, joined by links.
final class MemoryNetwork: Sendable {
    let loop: StageEventLoop
    private let sites = Mutex<[String: MemorySite]>([:])

    init(loop: StageEventLoop) {
        self.loop = loop
    }

    /// Creates a site.
    ///
    /// - Parameter isNearby: False for a site that counts as beyond the other sites' network.
    func makeSite(isNearby: Bool = true) -> MemorySite {
        self.sites.withLock { sites in
            let address = "site-\(sites.count + 1)"
            let site = MemorySite(address: address, isNearby: isNearby, network: self)
            sites[address] = site
            return site
        }
    }

    func site(at address: String) -> MemorySite? {
        self.sites.withLock { $0[address] }
    }

    func cutAll() {
        for site in self.sites.withLock({ Array($0.values) }) { site.cut() }
    }

    /// Releases the sites, which retain the network.
    func removeAll() {
        self.sites.withLock { $0 = [:] }
    }
}
