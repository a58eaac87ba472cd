// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import RemoteSystemsIdentity
internal import Synchronization

/// An account that exists only in the memory of this process.
///
/// Creating keys and certificates takes longer than a test runs, so all stages share them: the first system of every
/// stage is the account's first, and so on. Stages have no connections with each other, so the shared identities cause
/// no conflict.
final class ThrowAwayAccount: Sendable {
    /// The account whose systems trust each other.
    static let shared = ThrowAwayAccount()
    /// An account that the systems of ``shared`` do not trust.
    static let stranger = ThrowAwayAccount()
    /// An account that may be linked with ``shared``.
    static let linked = ThrowAwayAccount()

    private struct State {
        var authority: AccountAuthority?
        var discoveryKey = DiscoveryKey()
        var systems: [SystemIdentity] = []
    }

    private let state = Mutex(State())

    /// The account's system with this number, counted from 0.
    func system(_ number: Int) throws -> SystemIdentity {
        try self.state.withLock { state in
            let authority: AccountAuthority
            if let known = state.authority {
                authority = known
            } else {
                authority = try AccountAuthority(creatingAt: Date())
                state.authority = authority
            }
            while state.systems.count <= number {
                let key = P256.Signing.PrivateKey()
                state.systems.append(
                    try SystemIdentity(
                        rootCertificate: authority.rootCertificate,
                        certificate: authority.issueCertificate(for: key.publicKey, now: Date()),
                        systemKey: key,
                        discoveryKey: state.discoveryKey,
                        isAuthority: false
                    )
                )
            }
            return state.systems[number]
        }
    }
}
