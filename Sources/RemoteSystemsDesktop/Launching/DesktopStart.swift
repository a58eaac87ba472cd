// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// How an application is started here and now, with a URI or with nothing to open, if it can be. Pure: what is known of the session is
/// given.
enum DesktopStart: Sendable, Hashable {
    /// Its `Open`, or without a URI its `Activate`, is called over the session's bus, which starts it if need be.
    case activate(busName: String, objectPath: String)
    /// It is started with these arguments.
    case spawn([String])
    case refuse(Refusal)

    /// Why it cannot be started.
    struct Refusal: Sendable, Hashable {
        /// A sentence.
        var text: String
        var canRetry = false
    }

    /// What is there for programs to use.
    struct Session: Sendable, Hashable {
        var hasDisplay: Bool
        var hasBus: Bool
        /// How a terminal is started with a program in it, without what follows being parsed; `nil` when there is none.
        var terminal: [String]?
    }

    init(_ entry: DesktopEntry, uri: LaunchURI?, session: Session) {
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
            self = .refuse(
                Refusal(text: "\(name) cannot be started: \(reason)", canRetry: entry.isDBusActivatable)
            )
            return
        }
        guard session.hasDisplay || !entry.needsDisplay else {
            let text =
                "\(name) needs a display, and there is none: nobody is logged in to a desktop there, or the process that "
                + "starts it does not know DISPLAY or WAYLAND_DISPLAY."
            self = .refuse(Refusal(text: text, canRetry: true))
            return
        }
        let arguments: [String]
        do throws(ExecLine.Flaw) {
            arguments = try ExecLine.arguments(exec, for: uri, entry: entry)
        } catch {
            self = .refuse(
                Refusal(text: "\(name) cannot be \(uri == nil ? "started" : "given it"). \(error.sentence)")
            )
            return
        }
        guard entry.needsTerminal else {
            self = .spawn(arguments)
            return
        }
        guard session.hasDisplay, let terminal = session.terminal else {
            self = .refuse(Refusal(text: "\(name) runs in a terminal, and there is none there to run it in."))
            return
        }
        self = .spawn(terminal + arguments)
    }
}

extension DesktopStart.Session {
    /// What there is for an entry, in an environment. Blocks, until it is called off: not to be called on Swift's thread pool.
    ///
    /// - Returns: `nil` when it was called off before it was known.
    init?(for entry: DesktopEntry, in environment: [String: String], _ cancellable: Cancellable) {
        let hasBus = entry.isDBusActivatable && MessageBus.hasSession(cancellable)
        guard !cancellable.isCancelled else { return nil }
        self.init(
            hasDisplay: ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false },
            hasBus: hasBus,
            terminal: entry.needsTerminal ? Terminal.find() : nil
        )
    }
}
