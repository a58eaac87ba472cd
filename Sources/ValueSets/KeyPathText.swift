// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Builds the text of a key path such as `player.tracks[3].title`, from the innermost key outwards, while an error
/// propagates.
///
/// Keys may come from a peer, so the text has a limited length and no control characters.
enum KeyPathText {
    static let maximumKeyLength = 48
    static let maximumLength = 384

    static func prepend(key: String, to path: String) -> String {
        join(isPlain(key) ? clipped(key) : "[\(quoted(key))]", path)
    }

    static func prepend(index: Int, to path: String) -> String {
        join("[\(index)]", path)
    }

    /// The key in quotes, with escapes in place of control, invisible and line-breaking characters.
    static func quoted(_ key: String) -> String {
        // `debugDescription` escapes the control characters of ASCII only. Terminals also interpret others, such as
        // U+009B, and characters that change the direction of text.
        var text = ""
        for scalar in clipped(key).debugDescription.unicodeScalars {
            if scalar.isControlCharacter {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func join(_ component: String, _ path: String) -> String {
        guard component.utf8.count + path.utf8.count < maximumLength else {
            // The innermost keys identify the place best, so the outer ones are replaced with "…".
            return path.hasPrefix("…") ? path : "…" + path
        }
        guard let first = path.first, first != "[", first != "…" else { return component + path }
        return "\(component).\(path)"
    }

    private static func isPlain(_ key: String) -> Bool {
        !key.isEmpty
            && key.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "$"):
                    true
                default:
                    false
                }
            }
    }

    private static func clipped(_ key: String) -> String {
        guard key.utf8.count > maximumKeyLength else { return key }
        // Cut by scalars: one character may hold any number of combining marks.
        var clipped = ""
        for scalar in key.unicodeScalars {
            guard clipped.utf8.count + UTF8.width(scalar) <= maximumKeyLength else { break }
            clipped.unicodeScalars.append(scalar)
        }
        return clipped + "…"
    }
}
