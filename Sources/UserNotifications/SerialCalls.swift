// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// Runs calls one after the other, in the order in which they were begun. Part of the state of its owner.
struct SerialCalls {
    private var last: Task<Void, Never>?

    /// Begins a call, which runs when those before it have ended.
    mutating func begin<Result: Sendable>(
        _ clock: FeatureClock,
        _ call: @escaping @Sendable () async -> Result
    ) -> Task<Result, Never> {
        let task = clock.task { [last] in
            await last?.value
            return await call()
        }
        self.last = clock.task { _ = await task.value }
        return task
    }
}
