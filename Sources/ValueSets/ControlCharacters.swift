// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Text from a peer is written to logs and terminals. Control characters in it could send escape sequences to a terminal
// or change the order in which text is displayed.

extension Unicode.Scalar {
    /// Whether the scalar is a control character (escape sequences begin with one), a line or paragraph separator, or
    /// an invisible format character, such as one that changes the direction of text.
    package var isControlCharacter: Bool {
        // The look-up of the category takes longer, and each peer sends several names.
        if self.isASCII { return self.value < 0x20 || self.value == 0x7f }
        return switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension String {
    package var hasControlCharacters: Bool { self.unicodeScalars.contains(where: \.isControlCharacter) }

    /// The text with a space in place of each control character.
    package var withoutControlCharacters: String {
        guard self.hasControlCharacters else { return self }
        return String(String.UnicodeScalarView(self.unicodeScalars.map { $0.isControlCharacter ? " " : $0 }))
    }
}
