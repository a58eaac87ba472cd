// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Testing

extension CommandTests.Calling {
    /// A service whose response takes longer than any timeout of the tests.
    static let slow = AppService("test.slow", requestSchema: .full, responseSchema: .full) { request in
        // Outlasts the ping's timeout; cancelled with the test.
        try await Task.sleep(for: .seconds(60))
        return request.message
    }

    @Test func `ping waits for each response as long as its timeout and counts the missing ones as lost`()
        async throws
    {
        try await Self.with([Self.slow]) { sandbox, address in
            let began = ContinuousClock.now
            let finished = try await sandbox.start(
                [
                    "ping", address, "--loopback", "--service", "test.slow", "--timeout", "2", "-c", "3", "-i", "0",
                    "--json",
                ]
            ).finish()
            // The default timeout of five seconds each would take 15.
            #expect(ContinuousClock.now - began < .seconds(14))
            #expect(finished.status == 1, "\(finished.errors)")
            #expect(finished.json.count { $0["event"] as? String == "lost" } == 3)
            #expect(finished.event("summary")?["lost"] as? Int == 3)
        }
    }
}
