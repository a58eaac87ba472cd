// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Web pages that another system offers, and the installed application that their site approves.
    @Suite struct WebpageApplications {
        private static let id = "com.example.reader"
        private static let page = "https://plain.example/item?id=17"

        @Test
        func `a page starts the application of its site, and opens no program that only has its id (H-12, H-82, B-06)`()
            async throws
        {
            try await TwoBuses.with { first, second in
                let directory = second.desktop.directory
                let key = "\(directory)/key"
                let remotesystems = try builtProgram("remotesystems")
                let keygen = try await run([remotesystems, "app", "keygen", key, "--json"])
                let publisher = try #require(keygen.firstMatch(of: /"publisher":"([a-z2-7]+)"/)?.output.1)
                try await Sites.with(approving: "\(publisher).\(Self.id)") { sites in
                    let authorities = ["--authorities", "\(sites.directory)/authority.pem"]
                    let site = ["--private-site", "plain.example=127.0.0.1:\(sites.port)"]
                    try await run(
                        [remotesystems, "association", "settings"] + authorities + site,
                        environment: second.environment
                    )
                    try second.desktop.install("org.example.browser")
                    try second.desktop.associate("https", "org.example.browser")
                    let probe = try builtProgram("activity-probe")
                    let steps = "\(directory)/steps"
                    try await second.register(
                        Self.id,
                        #"""
                        "associatedDomains": ["activitycontinuation:plain.example"],
                        "start": {"exec": ["\#(probe)", "\#(Self.id)", "\#(steps)", "lo", "-"]}
                        """#,
                        key: key
                    )

                    // The same program in another file, which the manifest does not name.
                    let copy = "\(directory)/copy"
                    try await run(["cp", probe, copy])
                    let impostor = try second.start([
                        copy, Self.id, "\(copy) steps", "lo", "-", "offer=com.example.copied",
                    ])
                    try await second.lists("A text", proof: "unproven", of: "current")
                    #expect(try await self.continuePage(from: first, on: second) == "org.example.browser")
                    #expect(try await second.desktop.recorded("org.example.browser") == [Self.page])
                    await impostor.stop()
                    _ = try await eventually("the end of its offer", within: .seconds(60)) {
                        () async throws -> Bool? in
                        let listing = try second.start([remotesystems, "activities", "current", "--loopback"])
                        return try await listing.exit(within: .seconds(60)) == 1 ? true : nil
                    }
                    let copied = Self.steps(in: "\(copy) steps")
                    #expect(!copied.contains { $0.hasPrefix("decide") || $0.hasPrefix("page") }, "\(copied)")

                    // Nothing runs under the id now, so the daemon starts the program that the manifest names.
                    #expect(Self.steps(in: steps) == [])
                    #expect(try await self.continuePage(from: first, on: second) == Self.id)
                    let started = Self.steps(in: steps)
                    #expect(started.count { $0 == "started" } == 1, "\(started)")
                    #expect(started.contains("page \(Self.page)"), "\(started)")
                    // The site's word is asked for once.
                    #expect(sites.requests(to: "plain.example").count == 1)
                }
            }
        }

        /// Offers the page on one system, and continues it on another one.
        ///
        /// - Returns: the application that has it.
        private func continuePage(from origin: TwoBuses, on receiver: TwoBuses) async throws -> String? {
            let command = [try builtProgram("remotesystems"), "activities"]
            let options = ["--loopback", "--json"]
            let offering = try origin.start(
                command + ["offer", "org.remotesystems.browsing-web", "--web", Self.page] + options
            )
            let id = try await eventually("the offer", within: .seconds(60)) {
                offering.lines.joined().firstMatch(of: /"id":"([0-9a-f-]+)"/).map { String($0.output.1) }
            }
            // GIO starts desktop entries on a display only.
            let continuing = try receiver.start(["env", "DISPLAY=:99"] + command + ["continue", id] + options)
            let code = try await continuing.exit(within: .seconds(60))
            #expect(code == 0, "\(continuing.lines)")
            await offering.stop()
            let event = continuing.lines.first { $0.contains(#""event":"continued""#) }
            return event?.firstMatch(of: /"application":"([^"]+)"/).map { String($0.output.1) }
        }

        /// What `activity-probe` has recorded in a file.
        private static func steps(in file: String) -> [String] {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").map(String.init)
        }
    }
}
