// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity
internal import Synchronization

/// The link between ``StagedAccount/own`` and ``StagedAccount/linked`` on a stage.
final class LinkedStageAccounts: Sendable {
    private let grants = Mutex<(given: Grants, received: Grants)?>(nil)

    /// Links the accounts.
    ///
    /// - Parameters:
    ///   - granted: The rights that the own account grants.
    ///   - received: The rights that the linked account grants.
    func link(granting granted: Grants, receiving received: Grants) {
        self.grants.withLock { $0 = (granted, received) }
    }

    /// Withdraws the link.
    func unlink() { self.grants.withLock { $0 = nil } }

    /// The links of a staged account.
    ///
    /// - Throws: The error of creating the accounts' keys.
    func links(of account: StagedAccount) throws -> [AccountLink] {
        guard let grants = self.grants.withLock({ $0 }) else { return [] }
        switch account {
        case .own: return [AccountLink(try Self.own(grants.given), with: try Self.linked(grants.received))]
        case .linked: return [AccountLink(try Self.linked(grants.received), with: try Self.own(grants.given))]
        case .other, .impostor: return []
        }
    }

    private static func own(_ granted: Grants) throws -> LinkOffer {
        LinkOffer(try ThrowAwayAccount.shared.system(0), name: "Own account", granted)
    }

    private static func linked(_ granted: Grants) throws -> LinkOffer {
        LinkOffer(try ThrowAwayAccount.linked.system(0), name: "Linked account", granted)
    }
}

extension AccountLink {
    fileprivate init(_ own: LinkOffer, with other: LinkOffer) {
        self.init(own, with: other, number: 1, now: Date())
    }
}

extension LinkOffer {
    fileprivate init(_ identity: SystemIdentity, name: String, _ granted: Grants) {
        self.init(
            roots: identity.roots,
            revocations: nil,
            name: name,
            granted: granted,
            number: 1,
            // Both accounts compute the same key from it.
            share: [UInt8](repeating: 0, count: DiscoveryKey.byteCount)
        )
    }
}
