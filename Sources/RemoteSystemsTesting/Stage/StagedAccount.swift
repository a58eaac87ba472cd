// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// Whose a system of a stage is. Accounts of a stage are made for the tests of one process and kept nowhere.
public enum StagedAccount: Sendable, Hashable {
    /// That of the code under test.
    case own
    /// Somebody else's: seen by those alone who ask for `RemoteSystemAuthorizationKind.anonymous` systems, if it allows anyone
    /// nearby (``StagedApplication/allowsAnyoneNearby``).
    case other
    /// Somebody else's that claims to be our own, as an attacker might. Nobody takes it for that.
    case impostor

    /// The system with this number, counted from 0.
    func system(_ number: Int) throws -> SystemIdentity {
        switch self {
        case .own: return try ThrowAwayAccount.shared.system(number)
        case .other: return try ThrowAwayAccount.stranger.system(number)
        case .impostor:
            // What is announced is as of ours; the certificate cannot be.
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
