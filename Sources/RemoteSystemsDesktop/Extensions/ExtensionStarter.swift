// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Logging
internal import Synchronization
internal import UserNotifications

/// Starts the programs of extensions, and ends all that run.
package final class ExtensionStarter: Sendable {
    private struct State {
        /// The programs that run; `nil` when none are started any more.
        var running: [UUID: ExtensionProcess]? = [:]
    }

    let registry: ApplicationRegistry
    private let directory: String
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter directory: where the extensions have their files while they run. It is emptied now: an earlier
    ///   process may have left some.
    package init(_ registry: ApplicationRegistry, directory: String, logger: Logger) {
        self.registry = registry
        self.directory = directory
        self.logger = logger
        ExtensionFiles.remove(directory, logger)
    }

    /// Starts a program for an application.
    func start(
        _ arguments: [String],
        of application: String,
        _ limits: ExtensionLimits
    ) async throws(NotificationError) -> any ExtensionProgram {
        var logger = self.logger
        logger[metadataKey: "application"] = "\(application)"
        // Its file may lie on a disk that does not respond.
        let process = try await BlockingCalls.run { [directory, registry, logger] in
            Result { () throws(NotificationError) in
                if let problem = ProgramFile.problem(with: arguments[0]) {
                    throw NotificationError(.notShown, "\(arguments[0]) cannot be run: \(problem)")
                }
                return try ExtensionProcess(
                    arguments,
                    environment: registry.programEnvironment,
                    directory: directory,
                    limits: limits,
                    logger: logger
                )
            }
        }.get()
        let id = UUID()
        let isKept = self.state.withLock { state in
            state.running?[id] = process
            return state.running != nil
        }
        guard isKept else {
            _ = await process.end()
            throw NotificationError(.notShown, "The host daemon ends.")
        }
        process.whenEnded { [weak self] in self?.state.withLock { _ = $0.running?.removeValue(forKey: id) } }
        return process
    }

    func stop() async {
        let running = self.state.withLock { $0.running.take() } ?? [:]
        await withDiscardingTaskGroup { group in
            for process in running.values { group.addTask { _ = await process.end() } }
        }
    }
}
