// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

extension AdmissionGate {
    /// The party whose openings are counted together.
    enum Opener: Hashable, Sendable {
        case holder(QuotaHolder)
        /// An anonymous system, which can change its id as it likes, but not its address.
        case anonymous(PeerKey)

        init(_ peer: PeerIdentity, at key: PeerKey) {
            switch peer.standing {
            case .sameAccount, .linked: self = .holder(peer.quotaHolder)
            case .anonymous: self = .anonymous(key)
            }
        }
    }

    /// Returns `admit`, preceded by a check that the caller does not open connections too often. The peer keys of
    /// accepted callers are known from then on.
    ///
    /// The programs of the host's own system do not count. A stream does not count either: this host has offered the
    /// ticket for it. A stream without a valid ticket counts.
    func limiting(_ admit: @escaping Admit, from key: PeerKey, own: SystemID) -> Admit {
        let limited: Admit = { hello, peer in
            guard peer.systemID != own else { return await admit(hello, peer) }
            let opener = Opener(peer, at: key)
            guard hello.stream != nil else {
                guard self.open(opener, from: key) else { return .refuse(.openedTooOften) }
                return await admit(hello, peer)
            }
            let admission = await admit(hello, peer)
            if case .acceptStream = admission { return admission }
            return self.open(opener, from: key) ? admission : .refuse(.openedTooOften)
        }
        return { hello, peer in
            let admission = await limited(hello, peer)
            // Any machine nearby can appear as an anonymous system, so its key stays unknown.
            if admission.isAcceptance, peer.standing.kind.isAccountProved { self.accept(peer.quotaHolder, from: key) }
            return admission
        }
    }
}

extension Admission {
    fileprivate var isAcceptance: Bool {
        switch self {
        case .accept, .acceptStream: true
        case .refuse: false
        }
    }
}

extension Refusal {
    fileprivate static let openedTooOften = Refusal(
        .remoteSystemUnavailable,
        code: .tooManyConnectionsOfSystem,
        "Your system opens connections here more often than \(Int(AdmissionGate.openingRate)) times a second. Use one "
            + "connection for several requests, or try again after a second.",
        canRetry: true
    )
}
