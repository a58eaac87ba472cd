// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

/// Polls until the condition holds, for at most thirty seconds of real time.
func until(
    _ condition: () async -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while !(await condition()) {
        guard ContinuousClock.now < deadline else {
            Issue.record("It did not come about in thirty seconds.", sourceLocation: sourceLocation)
            return
        }
        // The conditions concern real sockets and threads, which have no common notification.
        try await Task.sleep(for: .milliseconds(2))
    }
}
