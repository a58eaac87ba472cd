// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    /// `account invite --qr`, read by an independent program.
    @Suite struct QRCodes {
        /// A picture (PBM) of a code in half blocks, with each module as a square of four pixels.
        private static func picture(_ lines: [String]) -> Data {
            let rows = lines.flatMap { line -> [[Bool]] in
                [line.map { $0 == "█" || $0 == "▀" }, line.map { $0 == "█" || $0 == "▄" }]
            }
            var text = "P1\n\((rows.first?.count ?? 0) * 4) \(rows.count * 4)\n"
            for row in rows {
                let pixels = row.map { String(repeating: $0 ? "0 " : "1 ", count: 4) }.joined() + "\n"
                text += String(repeating: pixels, count: 4)
            }
            return Data(text.utf8)
        }

        @Test func `the QR code of an invitation contains the invitation`() async throws {
            try await Sandbox.with { sandbox in
                // The number of addresses determines the size of the code.
                for count in [1, 8] {
                    let hosts = (1...count).flatMap { ["--host", "machine-\($0).example"] }
                    let inviting = try sandbox.start(["account", "invite", "--qr", "--loopback"] + hosts)
                    do {
                        let code = try await eventually("a code", within: .seconds(30)) { () -> [String]? in
                            let lines = inviting.process.lines.filter { $0.contains("█") }
                            // The last line is that of the quiet zone below the code.
                            guard let width = lines.first?.count, lines.count == (width + 1) / 2 else { return nil }
                            return lines
                        }
                        let said = try #require(inviting.process.lines.first { $0.hasPrefix("remote-systems:") })
                        let file = "\(sandbox.directory)/code.pbm"
                        try Self.picture(code).write(to: URL(fileURLWithPath: file))
                        // It also prints warnings, for example without a message bus.
                        let printed = try await IntegrationSupport.run(["zbarimg", "--quiet", "--raw", file])
                        let decoded = printed.split(separator: "\n").first { $0.hasPrefix("remote-systems:") }
                        #expect(decoded.map { String($0) } == said, "\(printed)")
                    } catch {
                        await inviting.process.stop()
                        throw error
                    }
                    await inviting.process.stop()
                }
            }
        }
    }
}
