// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Value {
    /// The value as JSON for a person to read, over several lines and without tags.
    ///
    /// A double is written with its fraction (`22.0`), a date as RFC 3339 text, a UUID and a URL as text, data as
    /// base64, a set as an array. The text does not preserve the types; ``json(prettyPrinted:)`` does.
    package var readableJSON: String {
        var text = ""
        self.write(to: &text, indent: 0)
        return text
    }

    private func write(to text: inout String, indent: Int) {
        switch self {
        case .null: text += "null"
        case .bool(let bool): text += "\(bool)"
        case .integer(let integer): text += "\(integer)"
        case .unsigned(let unsigned): text += "\(unsigned)"
        case .double(let double): text += double.isFinite ? "\(double)" : "\"\(Self.name(of: double))\""
        case .string(let string): Self.write(string, to: &text)
        case .data(let data): Self.write(data.base64EncodedString(), to: &text)
        case .date(let seconds): Self.write(Self.text(ofDate: seconds), to: &text)
        case .uuid(let uuid): Self.write(uuid.uuidString, to: &text)
        case .url(let url): Self.write(url.absoluteString, to: &text)
        case .array(let array): Self.write(array, "[", "]", to: &text, indent) { $0.write(to: &$1, indent: $2) }
        case .set(let set):
            let elements = set.map(\.readableJSON).sorted()
            Self.write(elements, "[", "]", to: &text, indent) { element, text, _ in text += element }
        case .dictionary(let dictionary):
            let entries = dictionary.entries.sorted { $0.key < $1.key }
            Self.write(entries, "{", "}", to: &text, indent) { entry, text, indent in
                Self.write(entry.key, to: &text)
                text += " : "
                entry.value.write(to: &text, indent: indent)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element],
        _ start: String,
        _ end: String,
        to text: inout String,
        _ indent: Int,
        _ write: (Element, inout String, Int) -> Void
    ) {
        guard !elements.isEmpty else {
            text += start + end
            return
        }
        text += start
        for (index, element) in elements.enumerated() {
            text += index == 0 ? "\n" : ",\n"
            text += String(repeating: " ", count: indent + 2)
            write(element, &text, indent + 2)
        }
        text += "\n" + String(repeating: " ", count: indent) + end
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }

    private static func name(of double: Double) -> String {
        double.isNaN ? "NaN" : double < 0 ? "-Infinity" : "Infinity"
    }

    /// Dates outside the years 1 to 9999 are written as seconds since 1970.
    private static func text(ofDate seconds: Double) -> String {
        guard (-62_135_596_800..<253_402_300_800).contains(seconds) else { return "\(seconds) s since 1970" }
        let hasFraction = seconds.rounded(.towardZero) != seconds
        let date = Date(timeIntervalSince1970: seconds)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction))
    }
}

extension ValueSet {
    /// The dictionary as JSON for a person to read; see ``Value/readableJSON``.
    package var readableJSON: String { Value.dictionary(self).readableJSON }
}
