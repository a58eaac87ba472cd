// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension DesktopNotification {
    /// The body as a server gets it. Servers read it as markup, with links and images, and the text may come from
    /// another system.
    ///
    /// - Parameter showsAll: whether the server shows every action.
    func markupBody(showsAll: Bool) -> String {
        var text = self.body
        if !showsAll, let fallback { text += text.isEmpty ? fallback : "\n\(fallback)" }
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

    /// A text of another system without invisible characters but line breaks.
    static func lines(_ text: String, max: Int = 1000) -> String {
        let scalars = text.unicodeScalars.map { $0.isVisible || $0 == "\n" ? $0 : " " }
        let lines = String(String.UnicodeScalarView(scalars))
        return lines.count > max ? "\(lines.prefix(max - 1))…" : lines
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
