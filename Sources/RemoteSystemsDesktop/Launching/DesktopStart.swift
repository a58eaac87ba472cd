// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// The decision how to start an application, with or without a URI.
///
/// A pure function of the desktop entry, the URI and the session.
enum DesktopStart: Sendable, Hashable {
    /// Call `Open`, or `Activate` without a URI, over the session bus. The bus starts the application if it is not
    /// running.
    case activate(busName: String, objectPath: String)
    /// Start a program with these arguments.
    case spawn([String])
    case refuse(Refusal)

    /// The reason why the application cannot be started.
    struct Refusal: Sendable, Hashable {
        /// The reason, as a sentence.
        var text: String
        var canRetry = false
    }

    /// The resources of the session.
    struct Session: Sendable, Hashable {
        var hasDisplay: Bool
        var hasBus: Bool
        /// The command line of a terminal program, to be followed by the command to run; `nil` if none is installed.
        var terminal: [String]?
    }

    /// - Parameter following: further URIs, for a program that takes several.
    init(_ entry: DesktopEntry, uri: LaunchURI?, following: [LaunchURI] = [], session: Session) {
        if entry.isDBusActivatable, session.hasBus {
            self = .activate(busName: entry.applicationID, objectPath: entry.objectPath)
            return
        }
        let name = entry.applicationID
        guard let exec = entry.exec else {
            let reason =
                entry.isDBusActivatable
                ? "it is started over the session bus, which this process cannot reach."
                : "its desktop entry has no valid Exec line."
            self = .refuse(
                Refusal(text: "\(name) cannot be started: \(reason)", canRetry: entry.isDBusActivatable)
            )
            return
        }
        guard session.hasDisplay || !entry.needsDisplay else {
            let text =
                "\(name) needs a display, and there is none: no user is logged in to a desktop there, or DISPLAY and "
                + "WAYLAND_DISPLAY are not set for the process that starts it."
            self = .refuse(Refusal(text: text, canRetry: true))
            return
        }
        let arguments: [String]
        do throws(ExecLine.Flaw) {
            arguments = try ExecLine.arguments(exec, for: uri, following: following, entry: entry)
        } catch {
            self = .refuse(
                Refusal(text: "\(name) cannot \(uri == nil ? "be started" : "open the URI"). \(error.sentence)")
            )
            return
        }
        guard entry.needsTerminal else {
            self = .spawn(arguments)
            return
        }
        guard session.hasDisplay, let terminal = session.terminal else {
            self = .refuse(Refusal(text: "\(name) runs in a terminal, and no terminal is available there."))
            return
        }
        self = .spawn(terminal + arguments)
    }
}

extension DesktopStart.Session {
    /// Determines the resources for an entry. Blocks: must not be called on Swift's thread pool.
    ///
    /// - Returns: `nil` if the call was cancelled.
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
