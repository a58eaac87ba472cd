// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import RemoteSystemsTransport

/// The clock of a process for feature modules: the machine's, or the one that a test advances.
package struct FeatureClock: Sendable {
    private let time: TimeSource
    private let taskExecutor: (any TaskExecutor)?

    package init(_ configuration: RemoteSystemsConfiguration) {
        self.time = configuration.environment.time
        self.taskExecutor = configuration.environment.taskExecutor
    }

    /// The machine's clock.
    package static let system = FeatureClock()

    private init() {
        self.time = .system
        self.taskExecutor = nil
    }

    package var now: ContinuousClock.Instant { self.time.now }

    /// The present date. Unlike ``now``, it changes when the system's clock is set.
    package var date: Date { self.time.date }

    /// Waits until an instant. Throws `CancellationError`.
    package func sleep(until instant: ContinuousClock.Instant) async throws {
        try await self.time.sleep(until: instant)
    }

    /// Starts a task that a test's clock controls.
    package func task<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Task<Result, Never> {
        Task(executorPreference: self.taskExecutor) { await body() }
    }

    /// Starts a task that runs its body at an instant, unless it is cancelled before.
    package func task(
        at instant: ContinuousClock.Instant,
        _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        self.task {
            guard (try? await self.sleep(until: instant)) != nil else { return }
            await body()
        }
    }

    /// Runs code of the application that may take too long or never return.
    ///
    /// - Returns: its result; `nil` after the time limit, or if the calling task is cancelled. The code is then
    ///   cancelled and runs on by itself.
    package func first<Result: Sendable>(
        within limit: Duration,
        _ body: @escaping @Sendable () async -> Result
    ) async -> Result? {
        let (results, continuation) = AsyncStream.makeStream(of: Result?.self, bufferingPolicy: .bufferingOldest(1))
        let end = self.now + limit
        let work = self.task { continuation.yield(await body()) }
        let alarm = self.task(at: end) { continuation.yield(nil) }
        defer {
            work.cancel()
            alarm.cancel()
        }
        for await result in results { return result }
        return nil
    }
}
