// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems

/// Builds the arguments of a program from the `Exec` line of its desktop entry and an optional URI.
///
/// The URI is inserted after the line was split, so nothing parses it. Lines in which the started program would parse
/// the URI as a command are refused.
enum ExecLine {
    /// The reason why a line cannot be used.
    enum Flaw: Error, Hashable {
        /// The line names no program.
        case empty
        /// The line has no field code for a URI.
        case takesNoURI
        /// The line has several field codes for a URI, which the specification forbids.
        case severalPlaces
        /// The line contains an unknown field code.
        case unknownCode
        /// The URI would become part of a command.
        case command
    }

    /// - Parameter following: further URIs. Only the codes `%U` and `%F` take them, as arguments of their own.
    static func arguments(
        _ template: [String],
        for uri: LaunchURI?,
        following: [LaunchURI] = [],
        entry: DesktopEntry
    ) throws(Flaw) -> [String] {
        guard let program = template.first, !program.isEmpty else { throw .empty }
        guard !program.contains("%") else { throw .unknownCode }
        var arguments = [program]
        var places = 0
        let script = Self.scriptIndex(template)
        let file = uri.flatMap { Self.file(of: $0, template) }
        for (index, part) in template.enumerated().dropFirst() {
            switch part {
            case "%i":
                if let icon = entry.icon { arguments += ["--icon", icon] }
                continue
            case "%f", "%F":
                if file == nil { continue }
            case "%d", "%D", "%n", "%N", "%v", "%m":
                continue
            case "%u", "%U":
                if uri == nil { continue }
            default: break
            }
            var holdsURI = false
            let argument = Self.expanded(part) { code in
                switch code {
                case "u", "U":
                    holdsURI = true
                    places += 1
                    return uri?.description ?? ""
                // For a URI that is no file, they expand to nothing.
                case "f", "F":
                    guard let file else { return "" }
                    holdsURI = true
                    places += 1
                    return file
                case "c": return entry.name
                case "k": return entry.file ?? ""
                // Deprecated.
                case "d", "D", "n", "N", "v", "m", "i": return ""
                default: return nil
                }
            }
            guard let argument else { throw .unknownCode }
            if holdsURI, uri != nil {
                guard index != script, part.allSatisfy(Self.isPlain) else { throw .command }
            }
            arguments.append(argument)
            if part == "%U" { arguments += following.map(\.description) }
            if part == "%F" { arguments += following.compactMap { Self.file(of: $0, template) } }
        }
        guard uri != nil else { return arguments }
        guard places > 0 else { throw .takesNoURI }
        guard places == 1 else { throw .severalPlaces }
        return arguments
    }

    /// Replaces the field codes of an argument; `%%` is a percent sign.
    ///
    /// - Parameter value: the text for a code; `nil` if there is no such code.
    /// - Returns: `nil` if there is an unknown code.
    static func expanded(_ part: String, _ value: (Character) -> String?) -> String? {
        var argument = ""
        var characters = part[...]
        while let character = characters.popFirst() {
            guard character == "%" else {
                argument.append(character)
                continue
            }
            guard let code = characters.popFirst(), let text = code == "%" ? "%" : value(code) else { return nil }
            argument += text
        }
        return argument
    }

    /// The path for the file codes of a line without a code for a URI; `nil` for a URI that is no local file.
    private static func file(of uri: LaunchURI, _ template: [String]) -> String? {
        guard !template.contains(where: { $0.contains("%u") || $0.contains("%U") }),
            let url = URL(string: uri.description), url.isFileURL, url.host()?.isEmpty ?? true
        else { return nil }
        let path = url.path(percentEncoded: false)
        return path.hasPrefix("/") && !path.utf8.contains(0) ? path : nil
    }

    /// Whether a character may surround a URI in an argument, as in `--url=%u`.
    ///
    /// An argument that needs quoting is more likely a command that a program parses. The specification forbids field
    /// codes in quoted arguments.
    static func isPlain(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-_=:/.,%+@".contains(character))
    }

    private static let shells: Set<String> = [
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "ash", "rbash", "busybox",
    ]

    /// The index of the argument that a shell runs as a command; `nil` if the line does not start a shell with `-c`.
    static func scriptIndex(_ template: [String]) -> Int? {
        guard let shell = template.firstIndex(where: { Self.shells.contains(Self.lastComponent($0)) }) else {
            return nil
        }
        let option = template[(shell + 1)...].firstIndex {
            $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.dropFirst().contains("c") || $0 == "--command"
        }
        // Options may stand between -c and the command.
        return option.flatMap { option in template[(option + 1)...].firstIndex { !$0.hasPrefix("-") } }
    }

    private static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? ""
    }
}

extension ExecLine.Flaw {
    var sentence: String {
        switch self {
        case .empty: "Its desktop entry names no program."
        case .takesNoURI: "Its desktop entry has no field code for a URI (%u or %U)."
        case .severalPlaces: "Its desktop entry has several field codes for a URI, which the specification forbids."
        case .unknownCode: "Its desktop entry contains an unknown field code."
        case .command: "Its desktop entry makes the URI part of a command, which is not safe."
        }
    }
}
