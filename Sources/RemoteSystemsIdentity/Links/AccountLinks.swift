// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The links of this system's account, as this system knows them.
package struct AccountLinks: Sendable, Hashable {
    /// The signed list; `nil` if the account never had a link.
    package let list: LinkList?
    /// The links, with everything that was learned of the linked accounts since. In ascending order of the accounts,
    /// withdrawn ones included.
    package let links: [AccountLink]
    /// What was learned of each account with a link in force in the list, encoded, for the account's other systems. The
    /// shortest first.
    package let learned: [[UInt8]]

    /// - Parameters:
    ///   - own: The root keys of this system's account. Links that a retired root key signed are not in force.
    ///   - learned: What was learned of the linked accounts.
    init(_ list: LinkList?, of own: RootChain, learned: LearnedLinks, now: Date) {
        self.list = list
        self.learned = learned.links.values
            .filter { list?[$0.account].map { $0.withdrawal == nil } ?? false }
            .compactMap(\.encoded)
            .sorted { $0.count == $1.count ? $0.lexicographicallyPrecedes($1) : $0.count < $1.count }
        guard let list, !own.isRetired(list.root, at: now) else {
            self.links = []
            return
        }
        self.links = list.links.map { link in
            var link = link
            if let learned = learned.links[link.account] { link.add(learned, of: own, now: now) }
            return link
        }
    }

    private init() {
        (self.list, self.links, self.learned) = (nil, [], [])
    }

    /// The links of an account that is held only in memory.
    package init(inMemory links: [AccountLink]) {
        self.list = nil
        self.links = links
        self.learned = []
    }

    package static let none = AccountLinks()

    /// Whether the signed list is older than the other one, as after the restore of a backup.
    package func isOlder(than other: AccountLinks) -> Bool {
        guard let newer = other.list else { return false }
        return self.list.map { newer.isNewer(than: $0) } ?? true
    }

    /// The link with an account, withdrawn or not.
    package subscript(account: AccountID) -> AccountLink? { self.links.first { $0.account == account } }

    /// The accounts that are trusted.
    package var linkedAccounts: [LinkedAccount] { self.links.compactMap(\.linkedAccount) }
}
