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
    ///
    /// - Parameters:
    ///   - max: the maximum number of characters.
    ///   - keepsJoiners: whether the joiners of emoji and scripts stay. Names have none, so that two that
    ///     look the same do not differ. Defaults to `false`.
    static func line(_ text: String, max: Int = 120, keepsJoiners: Bool = false) -> String {
        let line = text.visible(keepsJoiners: keepsJoiners)
        return line.count > max ? "\(line.prefix(max - 1))…" : line
    }

    /// A text of another system without invisible characters but joiners, and line breaks, of which there are at most
    /// nine.
    static func lines(_ text: String, max: Int = 1000) -> String {
        let visible = text.visible(keepsJoiners: true, keepsLineBreaks: true)
        let parts = visible.split(separator: "\n", omittingEmptySubsequences: false)
        let lines = parts.prefix(10).joined(separator: "\n")
        let isCut = parts.count > 10 || lines.count > max
        return isCut ? "\(lines.prefix(max - 1))…" : lines
    }
}

extension String {
    /// The text with spaces in place of invisible characters.
    ///
    /// - Parameters:
    ///   - keepsJoiners: whether U+200C and U+200D stay between visible characters that are not ASCII.
    ///   - keepsLineBreaks: whether line breaks stay. Defaults to `false`.
    fileprivate func visible(keepsJoiners: Bool, keepsLineBreaks: Bool = false) -> String {
        let scalars = Array(self.unicodeScalars)
        let visible = scalars.indices.map { index -> Unicode.Scalar in
            let scalar = scalars[index]
            if scalar.isVisible || (keepsLineBreaks && scalar == "\n") { return scalar }
            let isJoiner = scalar == "\u{200C}" || scalar == "\u{200D}"
            guard keepsJoiners, isJoiner, index > 0, index + 1 < scalars.count, scalars[index - 1].isJoined,
                scalars[index + 1].isJoined
            else { return " " }
            return scalar
        }
        return String(String.UnicodeScalarView(visible))
    }

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
    /// Whether a joiner beside it changes how it looks.
    fileprivate var isJoined: Bool { !self.isASCII && self.isVisible && !self.properties.isWhitespace }

    fileprivate var isVisible: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
