// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import UserNotifications

/// Hands the notification of `notify --later` over to the host daemon of this system, for the systems of the account
/// that have not received it.
struct NotifyLater {
    let configuration: RemoteSystemsConfiguration
    let searchTime: Duration
    let output: Output

    /// - Parameters:
    ///   - name: the name, or the beginning of the id, of the only system; `nil` for all.
    ///   - settled: the systems that have received the notification, or do not accept it.
    /// - Returns: how many systems receive it later.
    func post(
        _ notification: RemoteNotification,
        to name: String?,
        except settled: Set<SystemID>
    ) async throws -> Int {
        let systems = try self.systems(named: name).filter { !settled.contains($0.id) }
        guard !systems.isEmpty else { return 0 }
        let daemon = try await LocalNotifications.open(self.configuration, within: self.searchTime)
        // A message names a limited number of systems.
        for first in stride(from: 0, to: systems.count, by: Self.batch) {
            let ids = systems[first..<min(first + Self.batch, systems.count)].map { "\($0.id)" }
            try await daemon.post(notification, to: ids)
        }
        await daemon.close()
        for system in systems { try self.report(system) }
        return systems.count
    }

    private static let batch = 64

    private func systems(named name: String?) throws -> [AccountSystem] {
        let all = try RemoteSystemsAccount(self.configuration).systems().filter { !$0.isLocal && !$0.isRevoked }
        guard let name else { return all }
        let text = name.lowercased()
        let found = all.filter { $0.name?.lowercased() == text || (text.count >= 8 && "\($0.id)".hasPrefix(text)) }
        guard found.count < 2 else {
            var failure = Failure("misuse", "Several systems of the account are called '\(name)'. Name one by its id.")
            failure.systemIDs = found.map(\.id)
            throw failure
        }
        return found
    }

    private func report(_ system: AccountSystem) throws {
        let name = system.name ?? "\(system.id)".prefix(8) + "…"
        try self.output.json(NotifyDeliveryOutput(systemID: system.id, system: name, status: "later"))
        self.output.note("\(name): later. The host daemon of this system sends it when that system is back.".printable)
    }
}
