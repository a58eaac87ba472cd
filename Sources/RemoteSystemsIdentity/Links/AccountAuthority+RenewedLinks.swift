// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The list of links after the account's root key was replaced (`Docs/wire/links.md`).
extension AccountAuthority {
    /// The numbers that the clock passes in ten years (``nextNumber(after:now:)``).
    private static let numbersOfTenYears: UInt64 = 10 * 366 * 24 * 3600 * 1000

    /// Signs the list of links with the account's newest root key, if an older one signed it, and takes over
    /// withdrawals that another machine with the root key made. The new key signs their notices again, since the other
    /// accounts refuse those of a retired key.
    ///
    /// If the older key was stolen, the links in the list end: a thief may have made some, or widened their rights.
    ///
    /// - Parameters:
    ///   - list: The present list; `nil` if there is none.
    ///   - learned: What was learned of the linked accounts.
    ///   - held: The links that this system held.
    ///   - kept: The accounts whose links stay all the same.
    ///   - wasStolen: Whether the key was replaced just now, because it was stolen.
    /// - Returns: The list that replaces `list`; `nil` if `list` stays.
    func renewedLinks(
        _ list: LinkList?,
        learned: LearnedLinks,
        held: HeldLinks,
        keeping kept: Set<AccountID> = [],
        isStolen wasStolen: Bool = false,
        now: Date
    ) throws(IdentityError) -> LinkList? {
        guard let list else {
            // Other systems may have a list that a thief of the replaced key made, although this one has none. Without
            // a theft, an empty list would end the links that they have.
            guard wasStolen else { return nil }
            return try self.listAfterTheft(of: [], held: held, keeping: [], now: now)
        }
        var links = list.links
        for index in links.indices {
            let notice = learned.links[links[index].account]?.ownWithdrawal
            links[index].withdraw(byLearned: notice, of: self.roots, now: now)
        }
        guard list.root < self.roots.count || links != list.links else { return nil }
        guard !self.roots.isStolen(list.root) else {
            return try self.listAfterTheft(of: links, held: held, keeping: kept, now: now)
        }
        let clock = try self.nextNumber(after: list, now: now)
        return try self.signedAgain(links, droppedNumber: list.droppedNumber, clock: clock)
    }

    /// - Parameter clock: The smallest number that the new list can have.
    private func signedAgain(
        _ links: [AccountLink],
        droppedNumber: UInt64,
        clock: UInt64
    ) throws(IdentityError) -> LinkList {
        // Numbers of the replaced key count, unless they are so great that the next one would not be reached in ten
        // years.
        let numbers = links.map(\.number).filter { $0 < clock + Self.numbersOfTenYears }
        let number = max(clock, (numbers.max() ?? 0) + 1)
        var links = links
        for index in links.indices {
            links[index].number = min(links[index].number, number)
            guard let notice = links[index].withdrawal, notice.root != self.roots.count else { continue }
            links[index].withdraw(by: try self.withdrawal(of: links[index].account, number: links[index].number))
        }
        return try self.linkList(of: links, number: number, droppedNumber: min(droppedNumber, number))
    }

    /// Returns the list with a notice for each link that is not kept, and for each link that this system held, also if
    /// `links` lacks it.
    ///
    /// A thief may have filled the list with withdrawn links or with long entries, so that there is no space for all
    /// notices. Those of links that this system held come first.
    private func listAfterTheft(
        of links: [AccountLink],
        held: HeldLinks,
        keeping kept: Set<AccountID>,
        now: Date
    ) throws(IdentityError) -> LinkList {
        // Numbers of a stolen key do not count.
        let number = max(try self.nextNumber(after: nil, now: now), UInt64(LinkList.maxWithdrawn))
        var inForce: [AccountLink] = []
        var ended: [AccountLink] = []
        for var link in links {
            if link.withdrawal == nil, kept.contains(link.account) {
                link.number = number
                inForce.append(link)
            } else {
                ended.append(link)
            }
        }
        let listed = Set(links.map(\.account))
        for entry in held.entries where !listed.contains(entry.account) {
            ended.append(AccountLink(toEnd: entry, now: now))
        }
        let listedInForce = Set(links.filter { $0.withdrawal == nil }.map(\.account))
        ended = Self.inOrderOfNotices(ended, listedInForce: listedInForce, held: held)
        var withdrawn: [AccountLink] = []
        for (place, link) in ended.prefix(LinkList.maxWithdrawn).enumerated() {
            // A later list drops the withdrawn links with the smallest numbers.
            var link = link
            link.withdraw(by: try self.withdrawal(of: link.account, number: number - UInt64(place)))
            withdrawn.append(link)
        }
        while true {
            do throws(IdentityError) {
                return try self.linkList(
                    of: inForce + withdrawn,
                    number: number,
                    droppedNumber: withdrawn.count < ended.count ? number - UInt64(withdrawn.count) : 0
                )
            } catch {
                guard error.code == .tooManyLinks, withdrawn.popLast() != nil else { throw error }
            }
        }
    }

    /// Returns the links in the order in which they get their notices: those that this system held, then others in
    /// force in the list, then the rest.
    ///
    /// Neither the record nor the list may decide alone. The record keeps links that ended long ago, and a thief's list
    /// may lack the links that existed. So of the held links, the first of the record and the first of those in force
    /// in the list take turns.
    private static func inOrderOfNotices(
        _ links: [AccountLink],
        listedInForce: Set<AccountID>,
        held: HeldLinks
    ) -> [AccountLink] {
        let ofRecord = held.entries.compactMap { entry in links.first { $0.account == entry.account } }
        let ofBoth = ofRecord.filter { listedInForce.contains($0.account) }
        var order: [AccountLink] = []
        for (index, link) in ofRecord.enumerated() {
            order.append(link)
            if index < ofBoth.count { order.append(ofBoth[index]) }
        }
        order += links.filter { listedInForce.contains($0.account) } + links
        var seen: Set<AccountID> = []
        return order.filter { seen.insert($0.account).inserted }
    }
}
