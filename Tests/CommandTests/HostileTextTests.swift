// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

extension CommandTests.Calling {
    @Test func `text from a system cannot control the terminal and is unaltered in JSON`() async throws {
        let hostile = "\u{1B}[2J\u{9B}31m\u{202E}x\u{7}\ny\u{2028}z\u{7F}"
        try await Self.with(named: "at" + hostile + "las", attributes: ["room": hostile]) { sandbox, address in
            for arguments in [
                ["info", address], ["apps", address], ["ping", address, "--service", "test.free", "-c", "1"],
            ] {
                for further in [[], ["--json"]] {
                    let finished = try await sandbox.start(arguments + ["--loopback"] + further).finish()
                    #expect(!finished.lines.isEmpty, "\(finished.errors)")
                    #expect(!(finished.lines.joined() + finished.errors).steers, "\(arguments) \(finished.lines)")
                    #expect(further.isEmpty || finished.json.count == finished.lines.count)
                }
            }
            let reported = try sandbox.start(["apps", address, "--loopback", "--json"])
            let application = try #require(try await reported.finish().event("application"))
            #expect(application["attributes"] as? [String: String] == ["room": hostile])
        }
    }
}

extension String {
    /// Whether the text contains control characters other than line feeds.
    fileprivate var steers: Bool {
        self.unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            case .control: scalar != "\n"
            case .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }
}
