// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle

/// The lock that makes one process of a system show offers as notifications.
///
/// Two processes would show each offer twice.
struct OfferRole: Sendable {
    private let lock: ProcessLock

    /// Takes the lock. The process keeps it until it ends.
    ///
    /// - Parameter program: the program in the message of the other one, such as `the host daemon`.
    /// - Throws: ``Failure`` if another process has it; ``RemoteSystemError`` if the account cannot be read.
    init(_ configuration: RemoteSystemsConfiguration, _ program: String) throws {
        let account = RemoteSystemsAccount(configuration)
        // On first use this creates the state directory.
        _ = try account.identity()
        self.lock = try ProcessLock("\(try account.directory)/offer-notifications.lock") { process in
            Failure(
                "alreadyRunning",
                "What can be continued on this system is shown already by \(process). One program is enough. To use "
                    + "this one instead, stop the other one; for the host daemon, switch its setting 'notifyOffers' "
                    + "off and restart it."
            )
        }
        self.lock.note("\(program), process \(getpid())")
    }
}

/// Shows offers in the host daemon, as soon as no other process of the system does.
struct HostOfferPresenter: Service {
    let configuration: RemoteSystemsConfiguration
    let presenter: OfferPresenter

    /// The time after which the lock is tried again.
    private static let interval = Duration.seconds(5)

    func run() async throws {
        // Without the lock, the process is ending. With it, the process keeps it until then.
        guard await cancelWhenGracefulShutdown({ await self.takeRole() }) else { return }
        try await self.presenter.run()
    }

    /// Waits for the lock; `false` if the task is cancelled before.
    private func takeRole() async -> Bool {
        var reported: String?
        while !Task.isCancelled {
            do {
                _ = try OfferRole(self.configuration, "the host daemon")
                return true
            } catch {
                let reason = Failure(error).message
                if reason != reported {
                    self.configuration.logger.notice(
                        "The host daemon does not show offers now, and tries again",
                        metadata: ["reason": "\(reason)"]
                    )
                }
                reported = reason
            }
            // The kernel reports no release of a lock. Cancellation ends the loop.
            try? await Task.sleep(for: Self.interval)
        }
        return false
    }
}
