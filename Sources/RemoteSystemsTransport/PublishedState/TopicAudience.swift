// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity

/// Names the part of a topic that a group of peers receives. Peers with the same view receive the same records, so each
/// change is encoded once for all of them.
package struct TopicView: Sendable, Hashable {
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    /// The view of systems of the same account.
    package static let account = TopicView("account")
    /// The view of peers of which only the key is known.
    package static let anonymous = TopicView("anonymous")
}

/// Decides which peers may subscribe to a topic, and which of its records each subscriber receives.
package struct TopicAudience: Sendable {
    let view: @Sendable (PeerIdentity) -> TopicView?
    let includes: @Sendable (TopicView, StateKey) -> Bool

    /// Creates an audience from two rules.
    ///
    /// - Parameters:
    ///   - view: returns the peer's view; `nil` if the peer may not subscribe, for which the topic then does not exist.
    ///     Called when the peer subscribes, and after each change of trust.
    ///   - includes: returns whether the records with this key are part of the view. It must always return the same for
    ///     the same arguments; changed rights must lead to another view. Called while the publisher is locked, so it
    ///     must not call the publisher.
    package init(
        view: @escaping @Sendable (PeerIdentity) -> TopicView?,
        includes: @escaping @Sendable (TopicView, StateKey) -> Bool = { _, _ in true }
    ) {
        self.view = view
        self.includes = includes
    }

    /// All records, for systems of the same account only.
    package static let sameAccount = TopicAudience(view: { peer in
        switch peer.standing {
        case .sameAccount: .account
        case .linked, .anonymous: nil
        }
    })
}
