// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

// Root keys that peers have shown, which are stored for other processes and later starts.
extension AccountContext {
    /// Stores root keys that a peer presented, for other processes of this machine and for later starts.
    func keep(roots: RootChain) {
        guard self.environment.identity == nil else { return }
        self.rootKeeping.withLock { keeping in
            let earlier = keeping
            keeping = Task(executorPreference: self.environment.taskExecutor) {
                await earlier?.value
                await self.accountQueue.run { self.store(roots: roots) }
            }
        }
    }

    /// Returns when the root keys that peers have shown are stored.
    ///
    /// A host may refuse this system at once because its root key was replaced. A program that then ends would forget
    /// the new key before it is stored, and a machine with the old key would continue to admit systems with it.
    func untilRootsAreStored() async {
        let keeping = self.rootKeeping.withLock { $0 }
        await keeping?.value
    }

    /// Blocks while it waits for the lock on the files.
    private func store(roots: RootChain) {
        do {
            let own = try self.security().trust.own.id
            guard own == roots.accountID else {
                try self.store().learn(LearnedLink(roots: roots, of: own), now: Date())
                return self.reloadIdentity()
            }
            try self.store().install(roots: roots)
            self.reloadIdentity()
            // Peers receive the new root key, too.
            self.follower.notify()
        } catch {
            self.logger.warning("The account's new root key was not stored", metadata: ["reason": "\(error)"])
        }
    }
}
