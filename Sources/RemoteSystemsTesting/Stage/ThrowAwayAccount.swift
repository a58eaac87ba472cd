// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import RemoteSystemsIdentity
internal import Synchronization

/// An account that lives as long as the process and is kept nowhere.
///
/// Keys and certificates take longer to make than a test takes to run, so every stage has the same: its first system is
/// the first of the account, its second the second. Stages do not meet, so nobody can mix them up.
final class ThrowAwayAccount: Sendable {
    /// Whose systems trust each other.
    static let shared = ThrowAwayAccount()
    /// Whose systems nobody else trusts.
    static let stranger = ThrowAwayAccount()

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
