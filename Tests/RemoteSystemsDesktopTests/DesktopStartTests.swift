// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Testing

@testable import RemoteSystemsDesktop

/// How an application is started, depending on the desktop session.
@Suite struct DesktopStartTests {
    static let full = DesktopStart.Session(hasDisplay: true, hasBus: true, terminal: ["xterm", "-e"])
    static let bare = DesktopStart.Session(hasDisplay: false, hasBus: false, terminal: nil)

    static func start(_ change: (inout DesktopEntry) -> Void, in session: DesktopStart.Session) throws -> DesktopStart {
        var entry = DesktopEntry(id: "org.example.my-player.desktop", name: "Player", exec: ["play", "%u"])
        change(&entry)
        return DesktopStart(entry, uri: try LaunchURI("player:x"), session: session)
    }

    static func isRefused(_ start: DesktopStart) -> Bool {
        if case .refuse = start { true } else { false }
    }

    @Test func `a plain entry is started if there is a display`() throws {
        #expect(try Self.start({ _ in }, in: Self.full) == .spawn(["play", "player:x"]))
        #expect(Self.isRefused(try Self.start({ _ in }, in: Self.bare)))
        #expect(try Self.start({ $0.needsDisplay = false }, in: Self.bare) == .spawn(["play", "player:x"]))
    }

    @Test func `a D-Bus activatable entry is called over the bus, or started directly without a bus`() throws {
        let activation = DesktopStart.activate(
            busName: "org.example.my-player",
            objectPath: "/org/example/my_player"
        )
        #expect(try Self.start({ $0.isDBusActivatable = true }, in: Self.full) == activation)
        var session = Self.full
        session.hasBus = false
        #expect(try Self.start({ $0.isDBusActivatable = true }, in: session) == .spawn(["play", "player:x"]))
        #expect(
            Self.isRefused(
                try Self.start(
                    {
                        $0.isDBusActivatable = true
                        $0.exec = nil
                    },
                    in: session
                )
            )
        )
    }

    @Test func `a terminal program needs a terminal and a display, and is started in that terminal`() throws {
        #expect(
            try Self.start({ $0.needsTerminal = true }, in: Self.full) == .spawn(["xterm", "-e", "play", "player:x"])
        )
        var session = Self.full
        session.terminal = nil
        #expect(Self.isRefused(try Self.start({ $0.needsTerminal = true }, in: session)))
        session = Self.full
        session.hasDisplay = false
        #expect(Self.isRefused(try Self.start({ $0.needsTerminal = true }, in: session)))
    }

    @Test(arguments: [
        ("org.freedesktop.DBus.Error.NoReply", false), ("org.freedesktop.DBus.Error.Timeout", false),
        ("org.freedesktop.DBus.Error.ServiceUnknown", true), ("org.freedesktop.DBus.Error.Spawn.ExecFailed", true),
        ("org.example.Refused", true),
    ])
    func `a bus error is certain only if the application cannot have opened the URI`(
        name: String,
        isCertain: Bool
    ) {
        #expect(ActivationFailure.error(name: name).decision("a").status == (isCertain ? .appUnavailable : .unknown))
        #expect(ActivationFailure.noResponse.decision("a").status == .unknown)
        #expect(ActivationFailure.noBus.decision("a").status == .appUnavailable)
    }
}
