// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Testing

@testable import RemoteSystemsDesktop

/// The command line that the `Exec` of a desktop entry becomes with a URI (Desktop Entry Specification 1.5).
@Suite struct ExecLineTests {
    static let hostile = "player:;$(touch$IFS/x)&'y'*"

    static func arguments(_ template: [String], _ uri: String = hostile) throws -> [String] {
        let entry = DesktopEntry(id: "a.desktop", name: "A 'b'", icon: "pic", file: "/a.desktop")
        return try ExecLine.arguments(template, for: LaunchURI(uri), entry: entry)
    }

    @Test func `a program that takes only files gets the path of a local one`() throws {
        let file = try LaunchURI("file:///music/a%20song%25.mp3")
        func arguments(_ template: [String], _ uri: LaunchURI) throws(ExecLine.Flaw) -> [String] {
            try ExecLine.arguments(template, for: uri, entry: DesktopEntry(id: "a.desktop", name: "A"))
        }
        #expect(try arguments(["play", "%f"], file) == ["play", "/music/a song%.mp3"])
        #expect(try arguments(["play", "--file=%F"], file) == ["play", "--file=/music/a song%.mp3"])
        // A program that takes both gets the URI.
        #expect(try arguments(["play", "%f", "%u"], file) == ["play", "file:///music/a%20song%25.mp3"])
        #expect(throws: ExecLine.Flaw.command) { try arguments(["sh", "-c", "%f"], file) }
        for other in ["https://example.com/a.mp3", "file://server/a.mp3"] {
            let uri = try LaunchURI(other)
            #expect(throws: ExecLine.Flaw.takesNoURI) { try arguments(["play", "%f"], uri) }
        }
    }

    @Test func `further URIs follow the first one only where the line takes several`() throws {
        func arguments(_ template: [String], _ uris: String...) throws -> [String] {
            let uris = try uris.map { try LaunchURI($0) }
            return try ExecLine.arguments(
                template,
                for: uris[0],
                following: Array(uris.dropFirst()),
                entry: DesktopEntry(id: "a.desktop", name: "A")
            )
        }
        #expect(
            try arguments(["play", "%U", "-v"], "https://a/1", Self.hostile, "https://a/3")
                == ["play", "https://a/1", Self.hostile, "https://a/3", "-v"]
        )
        for one in ["%u", "--url=%U"] {
            let only = try arguments(["play", one], "https://a/1", "https://a/2")
            #expect(only.count == 2)
        }
        // A program that takes only files gets those.
        #expect(
            try arguments(["play", "%F"], "file:///a%20b", "https://a/2", "file:///c") == ["play", "/a b", "/c"]
        )
        #expect(try arguments(["play", "%f"], "file:///a", "file:///b") == ["play", "/a"])
        #expect(throws: ExecLine.Flaw.command) { try arguments(["sh", "-c", "%U"], "https://a/1", "https://a/2") }
    }

    @Test func `a URI is one argument, whatever it contains`() throws {
        #expect(try Self.arguments(["play", "%u"]) == ["play", Self.hostile])
        #expect(try Self.arguments(["play", "--url=%U", "-v"]) == ["play", "--url=" + Self.hostile, "-v"])
        #expect(try Self.arguments(["play", "%u"], "x:%25u%41") == ["play", "x:%25u%41"])
    }

    @Test func `the other field codes expand as in the specification`() throws {
        #expect(
            try Self.arguments(["play", "%i", "%c", "%k", "100%%", "%f", "%F", "%m", "%u"])
                == ["play", "--icon", "pic", "A 'b'", "/a.desktop", "100%", Self.hostile]
        )
    }

    @Test(
        arguments: [
            ([], ExecLine.Flaw.empty), ([""], .empty), (["%u"], .unknownCode), (["play"], .takesNoURI),
            (["play", "%f"], .takesNoURI), (["play", "%u", "%u"], .severalPlaces), (["play", "%u%U"], .severalPlaces),
            (["play", "%x", "%u"], .unknownCode), (["play", "%u", "50%"], .unknownCode),
            (["sh", "-c", "%u"], .command), (["/bin/bash", "-lc", "%u"], .command),
            (["bash", "-c", "-e", "%u"], .command),
            (["env", "A=1", "dash", "-c", "play %u"], .command), (["xterm", "-e", "play %u"], .command),
            (["play", "'%u'"], .command), (["play", "$(%u)"], .command), (["busybox", "sh", "-c", "%u"], .command),
        ] as [([String], ExecLine.Flaw)]
    )
    func `a line that cannot take a URI, or would have it parsed, is refused`(template: [String], flaw: ExecLine.Flaw) {
        #expect(throws: flaw) { try Self.arguments(template) }
    }

    @Test func `without a URI its field codes are empty, and a line without one is valid (R-26)`() throws {
        func arguments(_ template: [String]) throws -> [String] {
            try ExecLine.arguments(template, for: nil, entry: DesktopEntry(id: "a.desktop", name: "A", icon: "pic"))
        }
        #expect(try arguments(["play"]) == ["play"])
        #expect(
            try arguments(["play", "%u", "-v", "%U", "%f", "--url=%u", "%i", "%c"])
                == ["play", "-v", "--url=", "--icon", "pic", "A"]
        )
        #expect(throws: ExecLine.Flaw.empty) { try arguments([]) }
        #expect(throws: ExecLine.Flaw.unknownCode) { try arguments(["play", "%x"]) }
    }

    @Test func `a shell may get a URI as an argument of its script`() throws {
        #expect(
            try Self.arguments(["sh", "-c", #"exec play "$1""#, "sh", "%u"])
                == ["sh", "-c", #"exec play "$1""#, "sh", Self.hostile]
        )
    }
}
