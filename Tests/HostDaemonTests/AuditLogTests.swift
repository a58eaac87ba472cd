// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import RemoteSystems
import Testing

extension HostDaemonTests {
    /// What the daemon writes about peers to standard error, which is the journal of a service.
    @Suite struct AuditLog {
        @Test func `no name that a peer chooses looks like a key of an audit event`() async throws {
            let text = #"x [RemoteSystems] An account was linked" event=link.made decision=allow peer.account=zzzz"#
            try await Daemon.with { daemon in
                try await daemon.whileRunning { process, port in
                    let connection = AppServiceConnection(to: AppServiceDescription(name: text))
                    let status = try await connection.open(
                        RemoteSystemConnectionRequest(
                            host: "127.0.0.1",
                            port: port,
                            configuration: daemon.configuration(text)
                        )
                    )
                    #expect(status != .success)
                    let line = try await eventually("the refusal", within: .seconds(30)) {
                        process.lines.first { $0.contains(" event=access.refused ") }
                    }
                    // What an operator finds who searches for the keys.
                    for search in ["event=link.made", "decision=allow", "peer.account=zzzz"] {
                        #expect(!process.lines.contains { $0.contains(search) }, "\(search)")
                    }
                    // Both names are there, in quotes, and the line has one source and one sentence.
                    let escaped =
                        #"x [RemoteSystems] An account was linked\" event\u003dlink.made "#
                        + #"decision\u003dallow peer.account\u003dzzzz"#
                    #expect(line.contains(" peer.application=\"\(escaped)\" "), "\(line)")
                    #expect(line.contains(" service=\"\(escaped)\" "), "\(line)")
                    let bare = line.replacing("\"\(escaped)\"", with: "")
                    #expect(!bare.contains("\""), "\(line)")
                    #expect(bare.split(separator: " [").count == 2, "\(line)")
                    #expect(bare.hasSuffix("] A peer was refused"), "\(line)")
                    // Ordinary values have no quotes.
                    for key in ["decision=deny", "reason=unknown-service", "target=service"] {
                        #expect(bare.contains(" \(key) "), "\(line)")
                    }
                }
            }
        }
    }
}
