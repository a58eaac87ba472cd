// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// What another machine of the network reads while a system joins an account and is called.
    @Suite struct SecretsOnWire {
        /// The bytes of a file of an account in PEM.
        private static func bytes(of file: String, in state: String) throws -> [UInt8] {
            let text = try String(contentsOfFile: "\(state)/account/\(file).pem", encoding: .utf8)
            let lines = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }
            return Array(try #require(Data(base64Encoded: lines.joined())))
        }

        @Test func `no secret of an account and no name is readable on the wire, while a system joins and is called`()
            async throws
        {
            let states = [try await Accounts.shared.stranger(), try await Accounts.shared.stranger()]
            try await SimulatedNetwork.with { network in
                let a = Machine(host: try await network.addHost("a"), name: "private-alpha", state: states[0])
                let b = Machine(host: try await network.addHost("b"), name: "private-beta", state: states[1])
                // A capture has what arrives at its machine.
                let captures = try [a, b].map { try $0.host.start(Python.capture(interface: "eth0")) }
                for capture in captures { try await capture.capturing() }

                let inviting = try a.command(["account", "invite", "--host", a.address])
                let uri = try #require(try await inviting.reported("invitation", within: .seconds(30)).uri)
                let joining = try b.join(uri)
                try await joining.reported("joined", within: .seconds(30))
                #expect(try await inviting.exit() == 0)
                #expect(try await joining.exit() == 0)
                let serving = try await a.serve()
                #expect(try await b.ping("private-alpha").answered == 3)
                await serving.stop()
                // A last datagram in each direction shows that the captures have everything before it.
                let end = "the-end-of-the-capture"
                for (from, to) in [(a, b), (b, a)] {
                    let script = """
                        import socket
                        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"\(end)", ("\(to.address)", 9))
                        """
                    _ = try await from.host.output(of: ["python3", "-c", script])
                }
                _ = try await eventually("the end of both captures") {
                    captures.allSatisfy { $0.lines.contains { $0.contains(Python.hex(end)) } } ? true : nil
                }
                for capture in captures { await capture.stop() }

                let frames = captures.flatMap(\.lines).filter { $0.hasPrefix("frame ") }
                // Names of TLS's first message, in both directions' captures.
                for protocolName in ["remote-systems-join/1", "remote-systems/1"] {
                    #expect(frames.contains { $0.contains(Python.hex(protocolName)) }, "\(protocolName) is not there")
                }
                let secret = try #require(uri.split(separator: "secret=").last.map { String($0.prefix { $0 != "&" }) })
                let account = try #require(
                    uri.split(separator: "account=").last.map { String($0.prefix { $0 != "&" }) }
                )
                var hidden = ["private-", secret, account].map { (what: $0, hex: Python.hex($0)) }
                for (what, bytes) in [
                    ("the secret of the invitation", Python.base32(secret)),
                    ("the account", Python.base32(account)),
                    ("the discovery key", try Self.bytes(of: "discovery-key", in: b.state)),
                    ("the certificate", Array(try Self.bytes(of: "system-certificate", in: b.state).prefix(64))),
                ] {
                    #expect(bytes.count >= 16, "\(what) is too short to be searched")
                    hidden.append((what: what, hex: Python.hex(bytes)))
                }
                for one in hidden {
                    #expect(!frames.contains { $0.contains(one.hex) }, "\(one.what) is on the wire")
                }
            }
        }
    }
}
