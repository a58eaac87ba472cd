// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The account of a staged system. Staged accounts exist only in the memory of one test process.
public enum StagedAccount: Sendable, Hashable {
    /// The account of the code under test.
    case own
    /// Another account. Its systems are visible only to a watcher that looks for
    /// `RemoteSystemAuthorizationKind.anonymous` systems, and only if they allow anyone nearby
    /// (``StagedApplication/allowsAnyoneNearby``).
    case other
    /// Another account, which is linked with the account of the code under test once the test calls
    /// ``DiscoveryStage/link(granting:receiving:)``. Its systems are visible only to a watcher that looks for
    /// `RemoteSystemAuthorizationKind.linked` systems.
    case linked
    /// Another account that claims to be the account of the code under test, as an attacker might. Every system rejects
    /// the claim.
    case impostor

    /// Returns the system with this number, counted from 0.
    ///
    /// - Throws: The error of creating the system's keys.
    func system(_ number: Int) throws -> SystemIdentity {
        switch self {
        case .own: return try ThrowAwayAccount.shared.system(number)
        case .other: return try ThrowAwayAccount.stranger.system(number)
        case .linked: return try ThrowAwayAccount.linked.system(number)
        case .impostor:
            // The advertisement uses our discovery key; the certificate cannot be ours.
            let theirs = try ThrowAwayAccount.stranger.system(number)
            return try SystemIdentity(
                rootCertificate: theirs.rootCertificate,
                certificate: theirs.certificate,
                systemKey: theirs.systemKey,
                discoveryKey: ThrowAwayAccount.shared.system(number).discoveryKey,
                isAuthority: false
            )
        }
    }
}
