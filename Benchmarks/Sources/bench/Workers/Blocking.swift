// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Runs asynchronous work and blocks the current thread until its end. For the main thread of a worker.
func blocking<Success: Sendable>(_ body: @escaping @Sendable () async throws -> Success) throws -> Success {
    let outcome = Outcome<Success>()
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        do {
            outcome.set(.success(try await body()))
        } catch {
            outcome.set(.failure(error))
        }
        done.signal()
    }
    done.wait()
    return try outcome.get()
}

private final class Outcome<Success: Sendable>: Sendable {
    private let result = Mutex<Result<Success, any Error>?>(nil)

    func set(_ result: Result<Success, any Error>) {
        self.result.withLock { $0 = result }
    }

    func get() throws -> Success {
        guard let result = result.withLock({ $0 }) else { throw BenchError("The work ended without a result.") }
        return try result.get()
    }
}
