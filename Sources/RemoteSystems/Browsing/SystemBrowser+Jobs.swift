// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// What a browser does in tasks of its own, as long as it runs.
extension SystemBrowser {
    /// A piece of work that runs in a task of its own while the browser runs.
    enum Job: Sendable {
        case browse(BrowsedSource)
        case presence(AttemptQueue.Attempt)
        case followPresence(Connection, instance: String, attempt: Int)
        case followTrust(Connection)
        case followTopic(String, Connection, attempt: Int)
        /// Stops counting an attempt that takes long.
        case releaseSlowAttempt(Int)
        /// Closes the connection to a process that does not describe itself in time.
        case expectDescription(Connection, instance: String, attempt: Int)
        case observeAccount
        case renew
        /// Tries advertisements without the present tag.
        case tryUnrecognised
        /// Connects to a system whose advertisement does not carry the present tag.
        case exchangeTrust(AttemptQueue.Attempt)
        /// Tries the processes of known systems on each network that appears.
        case recall(KnownSystems)
        /// Tries the processes of known systems while discovery misses systems.
        case recallWhileFlooded(KnownSystems)
        /// Reviews hints when this machine's networks change.
        case reviewHints
        /// Stores what was learned of known systems, after a while in which more may be learned.
        case saveKnownSystems(KnownSystems)
    }

    /// The functions that it calls are not inlined: each of the tasks that last as long as a connection would otherwise
    /// reserve the memory that the most demanding job needs, 2.5 KiB instead of some 100 bytes.
    func perform(_ job: Job) async {
        switch job {
        case .browse(let source): await self.keepBrowsing(source)
        case .presence(let attempt): await self.keepPresence(attempt)
        case .releaseSlowAttempt(let attempt): await self.releaseIfSlow(attempt)
        case .expectDescription(let connection, let instance, let attempt):
            await self.expectDescription(of: instance, attempt: attempt, over: connection)
        case .observeAccount: await self.observeAccount()
        case .followPresence(let connection, let instance, let attempt):
            await self.followPresence(of: instance, attempt: attempt, over: connection)
        case .followTrust(let connection): await self.account.followTrust(over: connection)
        case .followTopic(let topic, let connection, let attempt):
            await self.follow(topic, over: connection, attempt: attempt)
        case .renew: await self.keepRenewing()
        case .tryUnrecognised: await self.tryUnrecognised()
        case .exchangeTrust(let attempt): await self.exchangeTrust(attempt)
        case .recall(let known): await self.keepRecalling(known)
        case .recallWhileFlooded(let known): await self.keepRecallingWhileFlooded(known)
        case .reviewHints: await self.keepReviewingHints()
        case .saveKnownSystems(let known): await self.save(known)
        }
    }

    @inline(never)
    private func releaseIfSlow(_ attempt: Int) async {
        guard (try? await self.time.sleep(for: BrowserTimes.slowAttempt)) != nil else { return }
        self.release(attempt)
    }

    @inline(never)
    private func expectDescription(of instance: String, attempt: Int, over connection: Connection) async {
        try? await self.time.sleep(for: BrowserTimes.description)
        guard let instance = self.instance(of: attempt, instance), !self.machine.isDescribed(instance),
            !self.delayedDescriptions.contains(attempt)
        else { return }
        connection.abort()
    }

    @inline(never)
    private func observeAccount() async {
        await self.account.observeAccount {
            self.trustChanged()
            self.linksChanged()
        }
        self.endIfLeft()
    }

    @inline(never)
    private func keepRenewing() async {
        while (try? await self.time.sleep(for: .seconds(6 * 3600))) != nil {
            await self.account.reloadIdentityInBackground()
            self.renewIfDue()
            self.rememberPresentSystems()
        }
    }

    @inline(never)
    private func keepReviewingHints() async {
        for await _ in PresentNetworks.changes() { self.reviewDistantHints() }
    }

    @inline(never)
    private func save(_ known: KnownSystems) async {
        guard (try? await self.time.sleep(for: BrowserTimes.saving)) != nil else { return }
        await known.save()
    }
}
