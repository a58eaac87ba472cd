// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity

/// What a group of peers sees of a topic. Peers with the same view see the same records, so each change is encoded once
/// for all of them.
package struct TopicView: Sendable, Hashable {
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    /// Systems of the same account.
    package static let account = TopicView("account")
    /// Peers of which nothing is known but their key.
    package static let anonymous = TopicView("anonymous")
}

/// Who may subscribe to a topic, and which of its records each subscriber receives.
package struct TopicAudience: Sendable {
    let view: @Sendable (PeerIdentity) -> TopicView?
    let includes: @Sendable (TopicView, StateKey) -> Bool

    /// - Parameters:
    ///   - view: The peer's view; `nil` if it may not subscribe. To the peer the topic then does not exist. Called when
    ///     it subscribes and at each change of trust.
    ///   - includes: Whether the records with this key are part of the view. It must always return the same for the
    ///     same arguments: rights that change are another view. Called while the publisher is locked, so it must not
    ///     call it.
    package init(
        view: @escaping @Sendable (PeerIdentity) -> TopicView?,
        includes: @escaping @Sendable (TopicView, StateKey) -> Bool = { _, _ in true }
    ) {
        self.view = view
        self.includes = includes
    }

    /// All records, for systems of the same account alone.
    package static let sameAccount = TopicAudience(view: { peer in
        switch peer.standing {
        case .sameAccount: .account
        case .linked, .anonymous: nil
        }
    })
}
