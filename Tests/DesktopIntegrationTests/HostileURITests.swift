// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Testing

extension DesktopTests {
    /// URIs that a compromised system of the account sends, as the arguments of a program (CVE-2017-18266).
    @Suite struct Hostile {
        static let arriving = [
            "player:--help", "player:-rf", "player:;touch%20x", "player:$(touch$IFS/x)", "player:&&reboot",
            "player:'x'", "player:'$(x)'", "player:*?", "player:~", "player:!!", "player:#--x", "player:a=b",
            "player:%25u", "player:%25f%25F", "player:%66", "player:%c3%bc", "player:%ff%fe", "player:%0a--help",
            "player:%22%27%60", "player:%2e%2e/%2e%2e", "PLAYER:X", "player://user:pass@[::1]:1/?a#b", "player:",
        ]

        static let refused = [
            "--help", "-player:x", "player", "player:a b", "player:\n--help", "player:a\nb", "player:\r", "player:\t",
            "player:${IFS}", "player:\u{0}", "player:%00", "player:a%00b", "player:\"x\"", "player:`touch x`",
            "player:<x>",
            "player:a|b",
            "player:a\\b", "player:%u", "player:%f", "player:%", "player:ü", "player:\u{2028}", "player:\u{202E}x",
            "player:\u{FEFF}", "\u{FEFF}player:x", " player:x", "player\u{0}:x", "pläyer:x",
        ]

        @Test
        func `a URI with shell text, options or field codes arrives as one argument, unchanged (R-17, CVE-2017-18266)`()
            async throws
        {
            try await Desktop.with { desktop in
                try desktop.install("one")
                try desktop.associate("player", "one")
                try await desktop.duringHandshake(["PROBE_ALLOW": "player", "DISPLAY": ":99"]) { opening in
                    for uri in Self.arriving {
                        let response = try await opening.sendUnchecked(uri)
                        #expect(response.message["Status"] == 1, "\(uri)")
                        let recorded = try await desktop.recorded("one")
                        #expect(recorded == [uri])
                        try desktop.forget("one")
                    }
                }
            }
        }

        @Test func `text that is not a URI is refused by the host and starts nothing (R-17)`() async throws {
            try await Desktop.with { desktop in
                try desktop.install("one")
                try desktop.associate("player", "one")
                try await desktop.duringHandshake(["PROBE_ALLOW": "player", "DISPLAY": ":99"]) { opening in
                    for uri in Self.refused {
                        let response = try await opening.sendUnchecked(uri)
                        #expect(response.status == .failure, "\(uri.debugDescription)")
                    }
                    // A URI that is opened afterwards shows that none of the refused ones was still being processed.
                    let last = try await opening.launch("player:last")
                    #expect(last.status == .success)
                    let recorded = try await desktop.recorded("one")
                    #expect(recorded == ["player:last"])
                }
            }
        }

        @Test func `an entry that puts a URI inside a command is not used`() async throws {
            try await Desktop.with { desktop in
                let marker = "\(desktop.directory)/marker"
                for (id, exec) in [
                    ("script", #"sh -c "touch '\#(marker)' %u""#), ("bare", "sh -c %u"),
                    ("quoted", #""\#(desktop.probe)" record "\#(desktop.directory)/quoted.record" "x %u""#),
                ] {
                    try desktop.install(id, exec: exec)
                    try desktop.associate("player", id)
                    try await desktop.duringHandshake(["PROBE_ALLOW": "player", "DISPLAY": ":99"]) { opening in
                        let result = try await opening.launch("player:$(touch$IFS\(marker))")
                        #expect(result.status == .appUnavailable)
                        #expect(result.error?.message.contains("part of a command") == true)
                    }
                }
                #expect(!FileManager.default.fileExists(atPath: marker))
            }
        }
    }
}
