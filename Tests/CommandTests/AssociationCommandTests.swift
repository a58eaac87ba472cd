// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import RemoteSystemsDesktop
import Synchronization
import Testing
import UserActivities
import WebAssociations
import WebAssociationsHTTP

extension CommandTests {
    /// `remotesystems association`, and pages that are continued on another system, with HTTPS sites on loopback.
    @Suite struct Associations {
        private func permit(_ hosts: [String], of sites: Sites, _ sandbox: Sandbox, as machine: String = "own")
            async throws
        {
            let arguments = hosts.flatMap { ["--private-site", "\($0)=127.0.0.1:\(sites.port)"] }
            let settings = try await sandbox.start(
                ["association", "settings", "--json", "--authorities", "\(sites.directory)/authority.pem"] + arguments,
                as: machine
            ).finish()
            #expect(settings.status == 0, "\(settings)")
        }

        @Test func `verify prints each step for a site, and what it approves (H-83, H-84)`() async throws {
            try await Sites.with { sites in
                try await Sandbox.with { sandbox in
                    try await self.permit(["signed-rsa.example", "altered.example"], of: sites, sandbox)
                    // Nothing listens on the port.
                    let settings = try await sandbox.start(
                        ["association", "settings", "--private-site", "nothing.example=127.0.0.1:1", "--json"]
                    ).finish()
                    #expect((settings.json.last?["privateSites"] as? [String])?.count == 3, "\(settings)")
                    let nothing = try await sandbox.run("association", "verify", "nothing.example", "--json")
                    #expect(nothing.status == 1 && nothing.json.last?["code"] as? String == "unreachable", "\(nothing)")
                    let approved = try await sandbox.start(
                        [
                            "association", "verify", "https://signed-rsa.example/", "--json", "--application",
                            Sites.approved,
                        ]
                    ).finish()
                    #expect(approved.status == 0, "\(approved)")
                    #expect(approved.json.allSatisfy { $0["isMet"] as? Bool == true }, "\(approved)")
                    #expect(approved.json.last?["application"] as? String == Sites.approved)
                    let other = try await sandbox.start(
                        [
                            "association", "verify", "signed-rsa.example", "--json", "--application",
                            "KEY9.com.example.reader",
                        ]
                    ).finish()
                    #expect(other.status == 1 && other.json.last?["code"] as? String == "notListed", "\(other)")
                    let altered = try await sandbox.run("association", "verify", "altered.example", "--json")
                    #expect(
                        altered.status == 1 && altered.json.last?["code"] as? String == "badSignature",
                        "\(altered)"
                    )
                }
            }
        }

        @Test func `sign writes what verify accepts for the certificate's host, and for no other (H-85, H-86)`()
            async throws
        {
            try await Sites.with { sites in
                try await Sandbox.with { sandbox in
                    try await self.permit([], of: sites, sandbox)
                    let (file, signed) = ("\(sandbox.directory)/file.json", "\(sandbox.directory)/signed.der")
                    try #"{"activitycontinuation": {"apps": ["KEY1.com.example.reader"]}}"#
                        .write(toFile: file, atomically: true, encoding: .utf8)
                    func sign(_ certificate: String, to output: String, _ options: String...) async throws
                        -> FinishedCommand
                    {
                        let key = ["--key", "\(sites.directory)/ec.key"]
                        let written = ["--certificate", "\(sites.directory)/\(certificate).pem", "--output", output]
                        return try await sandbox.start(["association", "sign", file] + key + written + options).finish()
                    }
                    let done = try await sign("ec", to: signed, "--json")
                    #expect(done.status == 0, "\(done)")
                    #expect(done.event("signed")?["hosts"] as? [String] == ["signed-ec.example", "*.wild.example"])
                    for (host, status) in [("signed-ec.example", 0), ("a.wild.example", 0), ("plain.example", 1)] {
                        let verify = try await sandbox.run("association", "verify", host, "--file", signed)
                        #expect(verify.status == status, "\(verify)")
                        // The code of the table in troubleshooting.md.
                        #expect(verify.lines.contains { $0.hasSuffix("]") } == (status == 1), "\(verify)")
                    }
                    let plain = try await sandbox.run("association", "verify", "plain.example", "--file", file)
                    #expect(plain.lines.contains { $0.contains("has to name the host") }, "\(plain)")
                    let nowhere = try await sign("ec", to: "\(sandbox.directory)/none/signed.der")
                    #expect(nowhere.status == 2 && nowhere.errors.contains("its directory exists"), "\(nowhere)")
                    #expect(!nowhere.errors.contains("Domain"), "\(nowhere)")
                    let wrong = try await sign("rsa", to: signed, "--json")
                    #expect(
                        wrong.status == 2 && wrong.event("failed")?["reason"] as? String == "badSignature",
                        "\(wrong)"
                    )
                }
            }
        }

        // MARK: Continuing pages

        /// What was shown on the desk: by the application, in this process, and by the browser.
        private final class Shown: Sendable {
            struct Page: Equatable {
                var type: String
                var address: String?
                var isEmpty: Bool
            }
            let pages = Mutex<[Page]>([])
            let browser = Mutex<[String]>([])
            /// Why no application shows it.
            let reasons = Mutex<[String]>([])
        }

        /// Continues a page that the other system offers on the desk, where an application claims domains.
        ///
        /// - Returns: where it was shown, and what.
        private func continuePage(
            _ page: String,
            type: String = UserActivity.browsingWeb,
            claiming domains: [String],
            as entry: String?,
            isProven: Bool = true,
            sites: Sites,
            _ sandbox: Sandbox
        ) async throws -> (receiver: String?, shown: Shown) {
            // An application's content does not reach what shows the page; a browser's activity has none.
            let content = type == UserActivity.browsingWeb ? [] : ["Chapter=3"]
            let offering = try sandbox.start(
                ["activities", "offer", "--loopback", "--json", type, "--web", page] + content
            )
            let id = try #require(try await offering.event("offering")["id"] as? String)
            var configuration = RemoteSystemsConfiguration(
                applicationID: "com.example.reader",
                network: .loopback,
                stateDirectory: sandbox.state("desk")
            )
            let shown = Shown()
            let reader = UserActivityHost(
                configuration,
                activityTypes: [],
                handler: .closure { activity in
                    let page = Shown.Page(
                        type: activity.type,
                        address: activity.webpageURL?.absoluteString,
                        isEmpty: activity.userInfo.isEmpty
                    )
                    shown.pages.withLock { $0.append(page) }
                }
            )
            let running = Task { try await reader.run() }
            defer { running.cancel() }
            _ = try await reader.host.port
            configuration.applicationID = "com.example.shell"
            let watcher = UserActivityWatcher(configuration)
            try await watcher.start()
            let offer = try await eventually("the offer", within: .seconds(60)) {
                let isListed = watcher.systems.first(where: \.isLocal)?.application("com.example.reader") != nil
                return isListed ? watcher.offers.first { $0.id.uuidString.lowercased() == id } : nil
            }
            let claims = try domains.map { try AssociatedDomain("activitycontinuation:\($0)") }
            let resolver = WebpageResolver(
                claimants: { [.init(application: "com.example.reader", entry: entry, domains: Set(claims))] },
                sites: AssociationVerifier(
                    configuration,
                    timeLimit: .seconds(60),
                    makeClient: HTTPSAssociationClient.make
                )
            )
            #expect(watcher.choice(for: offer) == .browser)
            let continuation = WebpageContinuation(
                watcher,
                configuration,
                resolver,
                // This process has no daemon that vouches for it.
                isProven: { isProven ? $1 == Sites.approved : WebpageContinuation.isProven($0, entry: $1) },
                openInBrowser: { uri in
                    shown.browser.withLock { $0.append(uri.description) }
                    return .opened(by: "browser")
                }
            )
            let opened = try await continuation.continue(offer)
            shown.reasons.withLock { $0 = opened.reasons }
            await watcher.stop()
            #expect(try await offering.finish().status == 0)
            return (opened.receiver, shown)
        }

        @Test
        func `a page goes to the application that claims its domain and that the site approves (B-06, H-81, H-88)`()
            async throws
        {
            try await Sites.with { sites in
                try await Sandbox.withDesk { sandbox in
                    let hosts = ["plain.example", "signed-rsa.example", "a.wild.example"]
                    try await self.permit(hosts, of: sites, sandbox, as: "desk")
                    for (host, domain) in zip(hosts, ["plain.example", "signed-rsa.example", "*.wild.example"]) {
                        let page = "https://\(host)/item?id=17"
                        let (receiver, shown) = try await self.continuePage(
                            page,
                            type: host == "plain.example" ? "com.example.reading" : UserActivity.browsingWeb,
                            claiming: [domain],
                            as: Sites.approved,
                            sites: sites,
                            sandbox
                        )
                        #expect(receiver == "com.example.reader", "\(host)")
                        #expect(
                            shown.pages.withLock { $0 }
                                == [.init(type: UserActivity.browsingWeb, address: page, isEmpty: true)]
                        )
                        #expect(shown.browser.withLock { $0.isEmpty })
                    }
                    let remembered = try await sandbox.run("association", "show", "--json", as: "desk")
                    #expect(remembered.json.count == 3, "\(remembered)")
                    #expect(remembered.json.allSatisfy { $0["isApproved"] as? Bool == true })
                }
            }
        }

        @Test
        func `a claim that the site does not approve, or no claim, leaves the page to the browser (H-83, H-88, X-03)`()
            async throws
        {
            try await Sites.with { sites in
                try await Sandbox.withDesk { sandbox in
                    try await self.permit(
                        ["plain.example", "unlisted.example", "untrusted-signer.example"],
                        of: sites,
                        sandbox,
                        as: "desk"
                    )
                    for (host, domains, entry, reason) in [
                        // Not listed there, another publisher, an unsigned manifest, and a signer of no authority.
                        ("unlisted.example", ["unlisted.example"], Sites.approved, "does not list"),
                        ("plain.example", ["plain.example"], "KEY3.com.example.reader", "does not list"),
                        ("plain.example", ["plain.example"], nil, "its manifest is not signed"),
                        (
                            "untrusted-signer.example", ["untrusted-signer.example"], Sites.approved,
                            "untrusted-signer.example was not found to approve com.example.reader: "
                        ),
                        // A subdomain that is not claimed, a domain above, and another one.
                        ("www.plain.example", ["plain.example"], Sites.approved, nil),
                        ("plain.example", ["*.plain.example"], Sites.approved, nil),
                        ("plain.example", ["signed-rsa.example"], Sites.approved, nil),
                    ] as [(String, [String], String?, String?)] {
                        let page = "https://\(host)/item?id=17"
                        let (receiver, shown) = try await self.continuePage(
                            page,
                            claiming: domains,
                            as: entry,
                            sites: sites,
                            sandbox
                        )
                        #expect(receiver == "browser", "\(host) \(domains)")
                        #expect(shown.pages.withLock { $0.isEmpty })
                        #expect(shown.browser.withLock { $0 } == [page])
                        let reasons = shown.reasons.withLock { $0 }
                        #expect(reasons.count == (reason == nil ? 0 : 1), "\(reasons)")
                        #expect(reasons.first?.contains(reason ?? "") ?? true, "\(reasons)")
                    }
                    #expect(sites.requests(to: "www.plain.example").isEmpty)
                }
            }
        }

        @Test func `a program that only runs under the id of an approved application gets no page (H-84)`() async throws
        {
            try await Sites.with { sites in
                try await Sandbox.withDesk { sandbox in
                    try await self.permit(["plain.example"], of: sites, sandbox, as: "desk")
                    let page = "https://plain.example/item?id=17"
                    let (receiver, shown) = try await self.continuePage(
                        page,
                        claiming: ["plain.example"],
                        as: Sites.approved,
                        isProven: false,
                        sites: sites,
                        sandbox
                    )
                    #expect(receiver == "browser")
                    #expect(shown.pages.withLock { $0.isEmpty } && shown.browser.withLock { $0 } == [page])
                    #expect(shown.reasons.withLock { $0.first }?.contains("is not proven") == true)
                }
            }
        }

        @Test func `why-not explains a claim that no site can approve (H-82, H-97)`() async throws {
            try await Sandbox.withDesk { sandbox in
                let manifests = "\(sandbox.directory)/data/remote-systems/applications"
                try FileManager.default.createDirectory(atPath: manifests, withIntermediateDirectories: true)
                try """
                {"id": "com.example.reader", "associatedDomains": ["activitycontinuation:plain.example"],
                 "activityTypes": ["\(UserActivity.browsingWeb)"], "start": {"exec": ["/bin/true"]}}
                """.write(toFile: "\(manifests)/com.example.reader.json", atomically: true, encoding: .utf8)
                try Sandbox.installBrowser("/bin/true", in: "\(sandbox.directory)/data")
                let offering = try sandbox.start([
                    "activities", "offer", "--loopback", UserActivity.browsingWeb, "--web", "https://plain.example/",
                ])
                let why = try await eventually("the offer", within: .seconds(60)) { () -> FinishedCommand? in
                    let why = try await sandbox.start(
                        ["activities", "why-not", "--loopback", "--json"],
                        as: "desk",
                        around: ["env", "XDG_DATA_HOME=\(sandbox.directory)/data", "XDG_DATA_DIRS=/nowhere"]
                    ).finish()
                    return why.status == 0 ? why : nil
                }
                let claim = try #require(why.json.last)
                #expect(claim["condition"] as? String == "associated" && claim["isMet"] as? Bool == false, "\(why)")
                #expect((claim["message"] as? String)?.contains("com.example.reader claims plain.example") == true)
                await offering.process.stop()
            }
        }
    }
}

extension Sandbox {
    /// Runs a body with a second system of the account, called `desk`.
    static func withDesk(_ body: (Sandbox) async throws -> Void) async throws {
        try await Sandbox.with { sandbox in
            _ = try await CommandTests.Account.whileInviting(sandbox) { _, uri in
                let joined = try await sandbox.join(uri, as: "desk")
                #expect(joined.status == 0, "\(joined)")
            }
            try await body(sandbox)
        }
    }

    /// Makes a program the default browser of the desktop whose data directory this is.
    static func installBrowser(_ program: String, in data: String) throws {
        let applications = "\(data)/applications"
        try FileManager.default.createDirectory(atPath: applications, withIntermediateDirectories: true)
        try """
        [Desktop Entry]
        Type=Application
        Name=Browser
        Exec=\(program) %u
        MimeType=x-scheme-handler/https;
        X-RemoteSystems-NeedsDisplay=false
        """.write(toFile: "\(applications)/browser.desktop", atomically: true, encoding: .utf8)
        try "[Default Applications]\nx-scheme-handler/https=browser.desktop\n"
            .write(toFile: "\(applications)/mimeapps.list", atomically: true, encoding: .utf8)
    }
}
