// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension DesktopNotification {
    /// The body as a server gets it. Most servers read it as markup, with links and images, and the text may come from
    /// another system.
    ///
    /// - Parameters:
    ///   - showsAll: whether the server shows every action.
    ///   - isMarkup: whether the server reads it as markup. Defaults to `true`.
    func markupBody(showsAll: Bool, isMarkup: Bool = true) -> String {
        let further = [showsAll ? nil : self.fallback, self.source.map { "– \($0)" }].compactMap(\.self)
        let text = ([self.body].filter { !$0.isEmpty } + further).joined(separator: "\n")
        guard isMarkup else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// A text of another system as one line without invisible characters.
    static func line(_ text: String, max: Int = 120) -> String {
        let scalars = text.unicodeScalars.map { $0.isVisible ? $0 : " " }
        let line = String(String.UnicodeScalarView(scalars))
        return line.count > max ? "\(line.prefix(max - 1))…" : line
    }

    /// A text of another system without invisible characters but line breaks, of which there are at most nine.
    static func lines(_ text: String, max: Int = 1000) -> String {
        let scalars = text.unicodeScalars.map { $0.isVisible || $0 == "\n" ? $0 : " " }
        let parts = String(String.UnicodeScalarView(scalars)).split(separator: "\n", omittingEmptySubsequences: false)
        let lines = parts.prefix(10).joined(separator: "\n")
        let isCut = parts.count > 10 || lines.count > max
        return isCut ? "\(lines.prefix(max - 1))…" : lines
    }
}

extension String {
    /// The text with `‹` and `›` in place of `<` and `>`. It has no tags, and looks the same whether its reader reads
    /// markup or not.
    var withoutTags: String {
        // Scalars: with a combining character, a sign is another character.
        let scalars = self.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar {
            case "<": return "‹"
            case ">": return "›"
            default: return scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}

extension Unicode.Scalar {
    fileprivate var isVisible: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
