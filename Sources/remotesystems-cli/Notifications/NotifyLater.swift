// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import UserNotifications

/// Hands the notification of `notify --later` over to the host daemon of this system, for the systems of the account
/// that have not received it.
struct NotifyLater {
    /// Finds the system that is meant; without a name, all systems are.
    let finder: SystemFinder
    let output: Output

    private var configuration: RemoteSystemsConfiguration { self.finder.configuration }

    /// - Parameter settled: the systems that have received the notification, or do not accept it.
    /// - Returns: how many systems receive it later, and why others do not.
    func post(
        _ notification: RemoteNotification,
        except settled: Set<SystemID>
    ) async throws -> (count: Int, failures: [Failure]) {
        let systems = try self.systems().filter { !settled.contains($0.id) }
        guard !systems.isEmpty else { return (0, []) }
        let daemon: LocalNotifications
        do {
            daemon = try await LocalNotifications.open(self.configuration, within: self.finder.wait)
        } catch {
            // Other systems may have received the notification, so this alone is no error of the command.
            let failure = Failure(error)
            for system in systems { try self.report(system, failure) }
            return (0, systems.map { _ in failure })
        }
        var failures: [Failure] = []
        // One by one: too many may wait for a system that does not come back, and the others are to receive it.
        for system in systems {
            do {
                try await daemon.post(notification, to: ["\(system.id)"])
                try self.report(system, nil)
            } catch let error as NotificationError {
                failures.append(Failure(error))
                try self.report(system, failures.last)
            }
        }
        await daemon.close()
        return (systems.count - failures.count, failures)
    }

    /// The system that the command line names, or all; without this one.
    private func systems() throws -> [AccountSystem] {
        let all = try RemoteSystemsAccount(self.configuration).systems().filter { !$0.isLocal && !$0.isRevoked }
        guard self.finder.text != nil else { return all }
        if let system = try self.finder.findKnown() { return [system] }
        if all.contains(where: { $0.name == nil }) {
            self.output.note(
                "Systems that this one never met have no name here. 'remotesystems account systems' prints their ids."
            )
        }
        return []
    }

    private func report(_ system: AccountSystem, _ failure: Failure?) throws {
        let name = system.name ?? system.id.short
        let status = failure == nil ? "later" : "not kept"
        let reason = failure?.message ?? "The host daemon of this system sends it when that system is back."
        try self.output.json(
            NotifyDeliveryOutput(
                systemID: system.id,
                system: name,
                status: status,
                reason: failure?.message,
                error: failure?.error,
                canRetry: failure?.canRetry
            )
        )
        // The failure of the only system is the error of the command.
        if failure == nil || self.finder.text == nil { self.output.note("\(name): \(status). \(reason)".printable) }
    }
}
