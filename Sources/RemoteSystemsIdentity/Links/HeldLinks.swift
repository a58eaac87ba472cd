// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// The links that this system held, in the order in which they count after the account's root key was stolen
/// (`Docs/wire/links.md`).
///
/// A thief can sign any list of links, which may lack the account's links and contain links that never existed. This
/// record is never sent, and a list only adds to its end: links of a list that arrives later never displace those of an
/// earlier one.
struct HeldLinks: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        let roots: RootChain
        let name: String

        var account: AccountID { self.roots.accountID }
    }

    /// First the links that were made here, the newest first, then the others in the order in which lists brought them.
    private(set) var entries: [Entry] = []
    /// The number, from 1, of the newest root key that signed a list of these links; 0 if there is none.
    private(set) var root = 0

    /// The maximum number of links, as many as a list can hold.
    static let maxCount = LinkList.maxLinks + LinkList.maxWithdrawn

    init() {}

    /// The place of an account in the order; `nil` for an account that had no link.
    func index(of account: AccountID) -> Int? { self.entries.firstIndex { $0.account == account } }

    /// Puts a link first that the owner made or changed on this machine. Drops the last one if there is no space.
    ///
    /// - Parameter root: The number of the root key that signs the list with the link.
    mutating func add(madeHere link: AccountLink, signedBy root: Int) {
        self.remove(link.account)
        self.entries.insert(Entry(roots: link.roots, name: link.name), at: 0)
        if self.entries.count > Self.maxCount { self.entries.removeLast() }
        self.root = max(self.root, root)
    }

    /// Adds the links in force of a list, as far as there is space.
    mutating func add(inForceIn list: LinkList) {
        for link in list.links where link.withdrawal == nil && self.index(of: link.account) == nil {
            guard self.entries.count < Self.maxCount else { return }
            self.entries.append(Entry(roots: link.roots, name: link.name))
            self.root = max(self.root, list.root)
        }
    }

    /// Removes a link that the owner withdrew on this machine.
    mutating func remove(_ account: AccountID) { self.entries.removeAll { $0.account == account } }

    // MARK: Coding

    private enum Key {
        static let links = "links"
        static let root = "root"
        static let roots = "roots"
        static let name = "name"
    }

    /// Enough for the longest chains and names.
    private static let limits = ValueSetLimits(depth: 8, keysPerDictionary: 64, items: 1024, bytes: 1 << 20)

    func bytes() throws(IdentityError) -> [UInt8] {
        let links = self.entries.map { entry in
            Value.dictionary([Key.roots: .data(Data(entry.roots.bytes)), Key.name: .string(entry.name)])
        }
        let map: ValueSet = [Key.links: .array(links), Key.root: .unsigned(UInt64(self.root))]
        do {
            return try map.encoded(limits: Self.limits)
        } catch {
            throw .invalidLink("What is known of former links is too large to be stored.")
        }
    }

    /// Reads the file's contents.
    init(_ bytes: [UInt8]) throws(TrustError) {
        guard let map = try? ValueSet(encoded: bytes, limits: Self.limits), let links = map[Key.links]?.array,
            links.count <= Self.maxCount, let root = map[Key.root]?.uint64, root <= UInt64(RootChain.maxRoots)
        else { throw .malformedLinks("cannot be read") }
        self.root = Int(root)
        for value in links {
            guard let link = value.dictionary, let roots = link[Key.roots]?.data, let name = link[Key.name]?.string
            else { throw .malformedLinks("has an invalid entry") }
            self.entries.append(Entry(roots: try RootChain(Array(roots)), name: name))
        }
    }
}

extension AccountLink {
    /// A link that a list lacks, to be ended by a notice. It grants nothing, and its discovery key is a new one.
    init(toEnd held: HeldLinks.Entry, now: Date) {
        self.init(
            account: held.account,
            name: Self.storable(name: held.name, of: held.account),
            granted: Grants(),
            received: Grants(),
            created: Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down)),
            roots: held.roots,
            discoveryKey: DiscoveryKey(),
            number: 0,
            otherNumber: 0
        )
    }
}
