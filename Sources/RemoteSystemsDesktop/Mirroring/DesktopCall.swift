// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a program asked the desktop's notification server to show (Desktop Notifications Specification 1.3, `Notify`).
struct DesktopCall: Sendable, Hashable {
    /// The name of the program.
    var program: String
    var summary: String
    var body = ""
    /// The id of the program's desktop entry, without `.desktop`.
    var desktopEntry: String?
    var urgency = DesktopNotification.Urgency.normal
    var isSilent = false
    /// Whether it only shows a state, such as the volume or the progress of a copy, or is gone in a moment.
    var isPassing = false
    /// Whether this SDK has shown it, for a program of this or another system.
    var isOwn = false

    /// The hint with which this SDK marks what it shows.
    static let ownHint = "x-remotesystems"
    /// Hints of which each says that only a state is shown: a bar, or a bubble that replaces the one before.
    static let stateHints = ["value", "synchronous", "x-canonical-private-synchronous", "x-dunst-stack-tag"]

    /// Finds the notification in the list of those that the user wants on the other systems.
    var names: Set<String> { Set([self.desktopEntry, self.program].compactMap { $0?.lowercased() }) }

    /// The application, as the other systems name and permit it.
    var application: String {
        [self.desktopEntry, self.program].compactMap { $0.map { Self.name($0) } }.first { !$0.isEmpty } ?? "desktop"
    }

    /// The program's name as the user sees it.
    var applicationName: String {
        let name = Self.name(self.program)
        return name.isEmpty ? self.application : name
    }

    /// A name on one line, without invisible characters, of at most 128 bytes.
    private static func name(_ text: String) -> String { DesktopNotification.line(text, max: 60).cut(toBytes: 128) }

    /// The body without the markup that servers understand (Desktop Notifications Specification 1.3, "Markup").
    var plainBody: String {
        var plain = self.body.replacing(/<\/?(?:[biu]|a|img)(?:\s[^<>]*)?\/?>/.ignoresCase(), with: "")
        for (escaped, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'")] {
            plain.replace(escaped, with: character)
        }
        plain.replace("&amp;", with: "&")
        return plain
    }
}

extension String {
    /// The text, or its beginning and an ellipsis.
    func cut(toBytes max: Int) -> String {
        guard self.utf8.count > max else { return self }
        var cut = ""
        for character in self {
            guard cut.utf8.count + character.utf8.count + 3 <= max else { break }
            cut.append(character)
        }
        return cut + "…"
    }
}
