// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import IntegrationSupport
import Testing

/// Issue 2 §4: a client in Python, written from the wire protocol document alone, checks a host and an inviter against
/// that document.
///
/// Loopback only; no simulated network is needed.
@Suite(.timeLimit(.minutes(3)))
struct IndependentClientTests {
    @Test(.enabled(if: IndependentClient.isToBeTried, "\(IndependentClient.obstacle ?? "")"))
    func `a client written from the wire protocol document alone finds every promise kept`() async throws {
        if let obstacle = IndependentClient.obstacle { throw IntegrationError(obstacle) }
        try await IndependentClient.withAccount { state in
            let serving = try IndependentClient.command("serve", "--port", "0", state: state)
            try await serving.orStopped {
                let port = try #require(try await serving.reported("ready").port)
                let inviting = try IndependentClient.command("account", "invite", state: state)
                try await inviting.orStopped {
                    let invitation = try #require(try await inviting.reported("invitation").uri)
                    try await IndependentClient.check(
                        directory: state + "-python",
                        invitation: invitation,
                        address: "127.0.0.1:\(port)"
                    )
                    #expect(try await inviting.exit() == 0)
                }
                // After all of the client's attacks the host still runs, and ends gracefully.
                #expect(serving.exitCode == nil)
                serving.send(SIGTERM)
                #expect(try await serving.exit() == 0)
            }
        }
    }
}
