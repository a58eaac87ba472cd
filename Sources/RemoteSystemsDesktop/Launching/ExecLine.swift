// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// Makes the arguments of a program out of the `Exec` of its desktop entry and a URI, or nothing to open.
///
/// The URI becomes an argument, or the end of one, after the line was taken apart: nothing parses it. Lines that would
/// have it read as a command by the program they start are refused.
enum ExecLine {
    /// Why a line cannot be used for a URI.
    enum Flaw: Error, Hashable {
        /// There is no program in it.
        case empty
        /// It has no place for a URI.
        case takesNoURI
        /// It has several places for one, which the specification forbids.
        case severalPlaces
        /// A percent sign with something behind it that means nothing.
        case unknownCode
        /// The URI would become part of a command.
        case command
    }

    static func arguments(_ template: [String], for uri: LaunchURI?, entry: DesktopEntry) throws(Flaw) -> [String] {
        guard let program = template.first, !program.isEmpty else { throw .empty }
        guard !program.contains("%") else { throw .unknownCode }
        var arguments = [program]
        var places = 0
        let script = Self.scriptIndex(template)
        for (index, part) in template.enumerated().dropFirst() {
            switch part {
            case "%i":
                if let icon = entry.icon { arguments += ["--icon", icon] }
                continue
            case "%f", "%F", "%d", "%D", "%n", "%N", "%v", "%m":
                continue
            case "%u", "%U":
                if uri == nil { continue }
            default: break
            }
            var argument = ""
            var characters = part[...]
            var holdsURI = false
            while let character = characters.popFirst() {
                guard character == "%" else {
                    argument.append(character)
                    continue
                }
                switch characters.popFirst() {
                case "%": argument.append("%")
                case "u", "U":
                    argument += uri?.description ?? ""
                    holdsURI = true
                    places += 1
                case "c": argument += entry.name
                case "k": argument += entry.file ?? ""
                // They stand for nothing (files, of which there are none) or not any more.
                case "f", "F", "d", "D", "n", "N", "v", "m", "i": break
                default: throw .unknownCode
                }
            }
            if holdsURI, uri != nil {
                guard index != script, part.allSatisfy(Self.isPlain) else { throw .command }
            }
            arguments.append(argument)
        }
        guard uri != nil else { return arguments }
        guard places > 0 else { throw .takesNoURI }
        guard places == 1 else { throw .severalPlaces }
        return arguments
    }

    /// What may stand around a URI in one argument, as in `--url=%u`. Whatever needs quoting in the line is more likely a
    /// command for something that parses it; the specification forbids it too.
    private static func isPlain(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-_=:/.,%+@".contains(character))
    }

    private static let shells: Set<String> = [
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "ash", "rbash", "busybox",
    ]

    /// The argument that a shell takes for a command, if the line starts one.
    private static func scriptIndex(_ template: [String]) -> Int? {
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
        case .takesNoURI: "Its desktop entry has no place for a URI (%u or %U)."
        case .severalPlaces: "Its desktop entry has several places for a URI, which the specification does not allow."
        case .unknownCode: "Its desktop entry holds a field code that does not exist."
        case .command: "Its desktop entry makes the URI part of a command, which is not done with URIs of others."
        }
    }
}
