// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Logging
internal import Synchronization
package import UserNotifications

/// Starts the service extensions that the manifests of applications name.
package final class DesktopServiceExtensions: ServiceExtensionPrograms {
    private struct State {
        /// The programs that run; `nil` when none are started any more.
        var running: [UUID: ServiceExtensionProcess]? = [:]
    }

    private let registry: ApplicationRegistry
    private let directory: String
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter directory: where the extensions have their files while they run. It is emptied now: an earlier
    ///   process may have left some.
    package init(_ registry: ApplicationRegistry, directory: String, logger: Logger) {
        self.registry = registry
        self.directory = directory
        self.logger = logger
        ServiceExtensionFiles.remove(directory, logger)
    }

    package func hasExtension(_ application: String) -> Bool {
        self.registry.serviceExtension(of: application) != nil
    }

    package func start(
        _ application: String
    ) async throws(NotificationError) -> (any ServiceExtensionProgram)? {
        guard let arguments = self.registry.serviceExtension(of: application) else { return nil }
        var logger = self.logger
        logger[metadataKey: "application"] = "\(application)"
        // Its file may lie on a disk that does not respond.
        let process = try await BlockingCalls.run { [directory, registry, logger] in
            Result { () throws(NotificationError) in
                if let problem = ProgramFile.problem(with: arguments[0]) {
                    throw NotificationError(.notShown, "\(arguments[0]) cannot be run: \(problem)")
                }
                return try ServiceExtensionProcess(
                    arguments,
                    environment: registry.programEnvironment,
                    directory: directory,
                    logger: logger
                )
            }
        }.get()
        let id = UUID()
        guard self.state.withLock({ $0.running?.updateValue(process, forKey: id) == nil && $0.running != nil }) else {
            _ = await process.end()
            throw NotificationError(.notShown, "The host daemon ends.")
        }
        process.whenEnded { [weak self] in self?.state.withLock { _ = $0.running?.removeValue(forKey: id) } }
        return process
    }

    package func stop() async {
        let running = self.state.withLock { $0.running.take() } ?? [:]
        await withDiscardingTaskGroup { group in
            for process in running.values { group.addTask { _ = await process.end() } }
        }
    }
}
