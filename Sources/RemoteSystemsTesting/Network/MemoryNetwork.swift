// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A network in memory: sites with addresses of their own, joined by links.
final class MemoryNetwork: Sendable {
    let loop: StageEventLoop
    private let sites = Mutex<[String: MemorySite]>([:])

    init(loop: StageEventLoop) {
        self.loop = loop
    }

    /// A new site, with an address that only neighbours have (RFC 4193).
    ///
    /// - Parameter isNearby: false for an address of the Internet (RFC 3849).
    func makeSite(isNearby: Bool = true) -> MemorySite {
        self.sites.withLock { sites in
            let address = "\(isNearby ? "fd00:db8" : "2001:db8")::\(String(sites.count + 1, radix: 16))"
            let site = MemorySite(address: address, network: self)
            sites[address] = site
            return site
        }
    }

    func site(at address: String) -> MemorySite? {
        self.sites.withLock { $0[address] }
    }

    /// Breaks every connection.
    func cutAll() {
        for site in self.sites.withLock({ Array($0.values) }) { site.cut() }
    }

    /// Lets go of the sites, which hold the network in turn.
    func removeAll() {
        self.sites.withLock { $0 = [:] }
    }
}
