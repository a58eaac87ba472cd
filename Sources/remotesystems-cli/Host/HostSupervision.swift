// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle

/// Reports the host's status, watchdog notifications and shutdown to the service manager.
///
/// The watchdog is notified only after every event loop and the host actor have run a task. A timer alone would prove
/// nothing about the threads that handle requests.
struct HostSupervision: Service {
    let host: RemoteSystemHost
    let registry: ApplicationRegistry
    let notifier: ServiceNotifier
    let logger: Logger

    func run() async throws {
        guard await self.host.listeningPort() != nil else { return }
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await gracefulShutdown() }
                if let timeout = self.notifier.watchdogTimeout {
                    // Keeps notifying during a graceful shutdown, while the host responds to the requests in progress.
                    group.addTask { await self.watch(every: timeout / 2) }
                }
                await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.notifier.send(.stopping)
        }
    }

    /// The status line that `systemctl status` shows.
    func status(port: Int) async -> ServiceMessage {
        let count = await self.registry.applications().count
        let problems = self.registry.problems.count
        return .status(
            "Port \(port), \(count) installed application\(count == 1 ? "" : "s")"
                + (problems == 0 ? "" : ", \(problems) invalid manifest\(problems == 1 ? "" : "s")")
        )
    }

    private func watch(every interval: Duration) async {
        while (try? await Task.sleep(for: interval)) != nil {
            guard (try? await self.host.proveAlive()) != nil else { continue }
            self.notifier.send(.watchdog)
        }
    }
}
