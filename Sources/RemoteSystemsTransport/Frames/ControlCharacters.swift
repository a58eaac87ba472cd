// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// What comes from a peer ends up in logs and on terminals: nothing in it may steer those, or change the order of what is read.

extension Unicode.Scalar {
    /// Control characters (escape sequences begin with one), those that break lines, and invisible ones that say how what
    /// surrounds them is shown, such as in which direction.
    package var isControlCharacter: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension String {
    package var hasControlCharacters: Bool { self.unicodeScalars.contains(where: \.isControlCharacter) }

    /// The text with a space in place of each of them.
    package var withoutControlCharacters: String {
        guard self.hasControlCharacters else { return self }
        return String(String.UnicodeScalarView(self.unicodeScalars.map { $0.isControlCharacter ? " " : $0 }))
    }
}
