// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle

/// Tells the service manager how the host is: what it does, that it lives, that it stops.
///
/// The watchdog is answered only after every event loop and the host itself have done something: a timer that fires proves
/// nothing about those who answer callers.
struct HostSupervision: Service {
    let host: RemoteSystemHost
    let registry: ApplicationRegistry
    let notifier: ServiceNotifier
    let logger: Logger

    func run() async throws {
        guard (try? await self.host.port) != nil else {
            // The host has ended, and says why.
            try? await gracefulShutdown()
            return
        }
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await gracefulShutdown() }
                if let timeout = self.notifier.watchdogTimeout {
                    // Not awaited by the group: it goes on while requests under way are answered.
                    group.addTask { await self.watch(every: timeout / 2) }
                }
                await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.notifier.send(.stopping)
        }
    }

    /// In a line, for `systemctl status`.
    func status(port: Int) async -> ServiceMessage {
        let count = await self.registry.applications().count
        let problems = self.registry.problems.count
        return .status(
            "Port \(port), \(count) installed application\(count == 1 ? "" : "s")"
                + (problems == 0 ? "" : ", \(problems) manifest\(problems == 1 ? "" : "s") not understood")
        )
    }

    private func watch(every interval: Duration) async {
        while (try? await Task.sleep(for: interval)) != nil {
            guard (try? await self.host.proveAlive()) != nil else { continue }
            self.notifier.send(.watchdog)
        }
    }
}
