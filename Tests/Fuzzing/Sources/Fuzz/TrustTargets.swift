// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

@testable import RemoteSystems
@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport
@testable import ValueSets

/// Reads the input as a revocation list, as root keys, and as the records of the topic `trust`.
///
/// If the first byte is odd, the account's root key signs the rest of the input, so that the code behind the check of
/// the signature is reached.
func fuzzRevocationList(_ input: [UInt8]) {
    let account = Account.identity.trustedAccount()
    var bytes = Array(input.dropFirst())
    let isSigned = input.first.map { !$0.isMultiple(of: 2) } ?? false
    if isSigned {
        let signed = Array("remote-systems/1 revoked".utf8) + account.id.bytes + bytes
        bytes += made { try Account.rootKey.signature(for: signed).rawRepresentation }
    }
    let list = try? account.revocationList(bytes, now: Account.now)
    if let list {
        require(list.bytes == bytes, "a revocation list changed")
        require(RevocationList.number(in: bytes) == list.number, "a revocation list has two numbers")
        require(list.systems.count <= RevocationList.maxSystems, "a revocation list is too long")
        require(list.systems.count * 32 + 72 == bytes.count, "a revocation list has other systems")
        require(zip(list.systems, list.systems.dropFirst()).allSatisfy { $0 < $1 }, "a revocation list has no order")
        for system in list.systems.prefix(64) { require(list.contains(system), "a revoked system is not found") }
        require(!list.contains(Account.inviter.systemID) || list.systems.contains(Account.inviter.systemID), "found")
        require(!list.isNewer(than: list), "a list is newer than itself")
        let records = TrustTopic.records(of: TrustedAccount(roots: account.roots, revocations: list))
        let presented = TrustTopic.presented(in: records).lists
        require(presented == [bytes], "the records of a revocation list are not the list")
        require(list.merging(list) == list, "a list merged with itself is another one")
    }
    if isSigned {
        let ids = stride(from: 8, to: max(8, bytes.count - 64), by: 32).map { bytes[$0..<min($0 + 32, bytes.count)] }
        let isList =
            input.count >= 9 && (input.count - 9).isMultiple(of: 32) && ids.count <= RevocationList.maxSystems
            && zip(ids, ids.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
        require((list != nil) == isList, "a signed list of the right form is refused, or another is accepted")
    }
    if let chain = try? RootChain(bytes) {
        require(chain.bytes == bytes && (1...RootChain.maxRoots).contains(chain.count), "a chain of roots changed")
        if let extended = try? account.roots.extended(by: chain) {
            require(extended.accountID == account.id, "a chain of roots has another account")
        }
    }
}

/// Reads the input as certificates, each after its length (two bytes, big-endian): a peer's own, then those of its
/// account's roots, newest first.
func fuzzCertificate(_ input: [UInt8]) {
    var certificates: [[UInt8]] = []
    var rest = input[...]
    while rest.count >= 2, certificates.count < 20, let high = rest.popFirst(), let low = rest.popFirst() {
        let count = Int(high) << 8 | Int(low)
        certificates.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
    }
    guard let own = certificates.first else { return }
    let presented = TrustStore.Presented(own, successions: Array(certificates.dropFirst()))
    var store = Account.identity.trustStore()
    if let verdict = try? store.judge(presented, now: Account.now) {
        require(verdict.peer.standing == .sameAccount(store.own.id), "a stranger is a system of the account")
        require(verdict.peer.expiry > Account.now, "an expired certificate is accepted")
        if let learned = verdict.learned {
            require(learned.accountID == store.own.id && learned.count > store.own.roots.count, "wrong roots")
            let roots = store.own.roots
            let isKnown = (1...roots.count).contains { roots.id(of: $0) == verdict.peer.root }
            let objection = store.objection(to: verdict.peer, now: Account.now)
            require(isKnown || objection != nil, "a peer is trusted whose root key is not known")
            made { _ = try store.extend(roots: learned) }
        }
        require(store.objection(to: verdict.peer, now: Account.now) == nil, "a peer is accepted and refused")
    }
    do throws(TrustError) {
        let verdict = try store.judge(presented, now: Account.now, accepting: [.sameAccount, .linked, .anonymous])
        if case .linked = verdict.peer.standing { broken("an account is linked that is not") }
    } catch {
        require(!error.message.hasControlCharacters && !error.messageToPeer.isEmpty, "an error's text is unsafe")
    }
    _ = JoiningCertificate.key(in: own)
    _ = try? SigningRequest.key(in: own)
}
