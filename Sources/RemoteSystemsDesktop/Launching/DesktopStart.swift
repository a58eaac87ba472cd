// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// How an application is started with a URI here and now, if it can be. Pure: what is known of the session is given.
enum DesktopStart: Sendable, Hashable {
    /// Its `Open` is called over the session's bus, which starts it if need be.
    case activate(busName: String, objectPath: String)
    /// It is started with these arguments.
    case spawn([String])
    case refuse(LaunchURIDecision)

    /// What is there for programs to use.
    struct Session: Sendable, Hashable {
        var hasDisplay: Bool
        var hasBus: Bool
        /// How a terminal is started with a program in it, without what follows being parsed; `nil` when there is none.
        var terminal: [String]?
    }

    init(_ entry: DesktopEntry, uri: LaunchURI, session: Session) {
        if entry.isDBusActivatable, session.hasBus {
            self = .activate(busName: entry.applicationID, objectPath: entry.objectPath)
            return
        }
        let name = entry.applicationID
        guard let exec = entry.exec else {
            let reason =
                entry.isDBusActivatable
                ? "it is started over the session's bus, and there is none for this process."
                : "its desktop entry names no program that can be read."
            self = .refuse(.unavailable("\(name) cannot be started: \(reason)", canRetry: entry.isDBusActivatable))
            return
        }
        guard session.hasDisplay || !entry.needsDisplay else {
            let text =
                "\(name) needs a display, and there is none: nobody is logged in to a desktop there, or the process that "
                + "opens URIs does not know DISPLAY or WAYLAND_DISPLAY."
            self = .refuse(.unavailable(text, canRetry: true))
            return
        }
        let arguments: [String]
        do throws(ExecLine.Flaw) {
            arguments = try ExecLine.arguments(exec, for: uri, entry: entry)
        } catch {
            self = .refuse(.unavailable("\(name) cannot be given it. \(error.sentence)"))
            return
        }
        guard entry.needsTerminal else {
            self = .spawn(arguments)
            return
        }
        guard session.hasDisplay, let terminal = session.terminal else {
            self = .refuse(.unavailable("\(name) runs in a terminal, and there is none there to run it in."))
            return
        }
        self = .spawn(terminal + arguments)
    }
}
