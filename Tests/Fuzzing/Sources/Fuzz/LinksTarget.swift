// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

@testable import RemoteSystemsIdentity
@testable import ValueSets

/// Reads the input as an offer to link accounts, as an account's list of links, as the notice of a withdrawal, as a
/// signed discovery key, and as the files of what was learned of linked accounts and of the links that were held.
///
/// If the first byte is odd, the account's root key signs the rest of the input, for the readers that require it.
func fuzzLinks(_ input: [UInt8]) {
    let bytes = Array(input.dropFirst())
    let account = Account.identity.trustedAccount()
    let isSigned = input.first.map { !$0.isMultiple(of: 2) } ?? false
    func signed(_ context: String, _ further: [UInt8] = []) -> [UInt8] {
        guard isSigned else { return bytes }
        let message = Array(context.utf8) + account.id.bytes + further + bytes
        return bytes + made { try Account.rootKey.signature(for: message).rawRepresentation }
    }

    if let offer = try? LinkOffer(encoded: bytes) {
        guard let encoded = try? offer.encoded() else { broken("an offer cannot be sent on") }
        guard let again = try? LinkOffer(encoded: encoded) else { broken("an offer cannot be read again") }
        require(again == offer && (try? again.encoded()) == encoded, "an offer changed")
        require(!"\(offer)".contains(offer.name) || offer.name.isEmpty, "an offer's description is not safe")
    }

    let list = signed("remote-systems/1 links")
    if let links = try? account.linkList(list, now: Account.now) {
        require(links.bytes == list, "a list of links changed")
        require(links.links.count { $0.withdrawal == nil } <= LinkList.maxLinks, "there are too many links")
        require(Set(links.links.map(\.account)).count == links.links.count, "an account is linked twice")
        require(!links.isNewer(than: links), "a list of links is newer than itself")
        var store = Account.identity.trustStore()
        store.update(links: links.links)
        for link in links.links { require(links[link.account] == link, "a link is not found") }
    }

    let other = Account.identity.systemID.bytes
    if let stranger = AccountID(bytes: other) {
        let notice = signed("remote-systems/1 link withdrawn", stranger.bytes)
        let withdrawal = try? LinkWithdrawal(notice, by: account.roots, of: stranger)
        let number = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        require(
            !isSigned || (withdrawal != nil) == (bytes.count == 8 && number <= LinkList.maxNumber),
            "a signed notice is refused, or another accepted"
        )
        if let withdrawal { require(withdrawal.bytes == notice, "a notice changed") }
    }

    let key = signed("remote-systems/1 discovery")
    if let read = try? account.discoveryKey(key, now: Account.now) {
        require(read.signedBytes == key && !read.isNewer(than: read), "a discovery key changed")
    }

    if let held = try? HeldLinks(bytes) {
        require(held.entries.count <= HeldLinks.maxCount, "there are too many links")
        guard let file = try? held.bytes(), let again = try? HeldLinks(file) else {
            broken("the links that were held cannot be stored")
        }
        require(again == held, "the links that were held changed")
    }

    if let learned = try? LearnedLinks(bytes, of: account.roots) {
        guard let file = try? learned.bytes(), let again = try? LearnedLinks(file, of: account.roots) else {
            broken("what was learned of linked accounts cannot be stored")
        }
        require(again.links == learned.links, "what was learned of linked accounts changed")
        for link in learned.links.values {
            guard let encoded = link.encoded else { continue }
            let read = try? LearnedLink(encoded: encoded, of: account.roots)
            require(read == link, "what was learned of a linked account changed for the other systems")
        }
    }
}
