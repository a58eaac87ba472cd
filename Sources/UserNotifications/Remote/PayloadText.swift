// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The texts of an alert in the JSON form of Apple's push service.
enum PayloadText {
    private static let maxArguments = 64

    /// Reads the text of a key, such as `title`, or else of the keys `title-loc-key` and `title-loc-args`.
    ///
    /// No table of strings of the receiving application is read. The text is the key itself then, as where the table
    /// has no entry for it.
    ///
    /// - Parameter prefix: of the keys for a localised text.
    static func read(
        _ name: String,
        localized prefix: String,
        _ alert: FieldReader
    ) throws(NotificationError) -> String {
        let key = try alert.string("\(prefix)loc-key")
        let arguments = try alert.strings("\(prefix)loc-args", max: Self.maxArguments)
        if let text = try alert.string(name) { return text }
        return key.map { Self.fill($0, arguments) } ?? ""
    }

    /// Replaces `%@` by the next argument, `%2$@` by the second one, and `%%` by `%`. A placeholder without an argument
    /// stays.
    static func fill(_ format: String, _ arguments: [String]) -> String {
        var (text, rest, next) = ("", format[...], 0)
        while let start = rest.firstIndex(of: "%") {
            text += rest[..<start]
            rest = rest[start...].dropFirst()
            if rest.first == "%" {
                text += "%"
                rest = rest.dropFirst()
                continue
            }
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            let isNext = digits.isEmpty
            let end = rest.dropFirst(digits.count)
            let index = isNext ? next : (Int(digits) ?? 0) - 1
            guard end.hasPrefix(isNext ? "@" : "$@"), arguments.indices.contains(index) else {
                text += "%"
                continue
            }
            text += arguments[index]
            rest = end.dropFirst(isNext ? 1 : 2)
            if isNext { next += 1 }
        }
        return text + rest
    }
}
