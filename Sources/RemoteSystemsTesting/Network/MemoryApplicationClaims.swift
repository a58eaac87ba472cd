// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import Synchronization

/// The claimed application ids of one system of a stage, by the same rule as the locks of a real machine.
final class MemoryApplicationClaims: ApplicationClaims {
    private struct Claimed {
        var isShared: Bool
        var claims: Set<ObjectIdentifier> = []
    }

    private final class Claim: ApplicationClaim {
        private let application: String
        private let claims: MemoryApplicationClaims

        init(application: String, claims: MemoryApplicationClaims) {
            self.application = application
            self.claims = claims
        }

        deinit { self.claims.release(self.application, ObjectIdentifier(self)) }

        func listens(at port: Int, isOnLoopback: Bool) {}
    }

    private let claimed = Mutex<[String: Claimed]>([:])

    func claim(_ application: String, isShared: Bool) throws -> any ApplicationClaim {
        let claim = Claim(application: application, claims: self)
        let isGiven = self.claimed.withLock { claimed in
            if let present = claimed[application], !present.isShared || !isShared { return false }
            claimed[application, default: Claimed(isShared: isShared)].claims.insert(ObjectIdentifier(claim))
            return true
        }
        guard isGiven else { throw ApplicationIsTaken(holders: ["another host on the same staged system"]) }
        return claim
    }

    /// Releases all claims, as when all of the system's processes end.
    func clear() {
        self.claimed.withLock { $0 = [:] }
    }

    private func release(_ application: String, _ claim: ObjectIdentifier) {
        self.claimed.withLock { claimed in
            claimed[application]?.claims.remove(claim)
            if claimed[application]?.claims.isEmpty == true { claimed[application] = nil }
        }
    }
}
