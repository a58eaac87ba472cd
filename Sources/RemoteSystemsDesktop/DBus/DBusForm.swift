// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// The form of values on D-Bus: type signatures, and tags for values without a D-Bus type.
///
/// A tag is a dictionary with one key that begins with `$`, as in the JSON form of values.
enum DBusForm {
    static let dictionary = "a{sv}"

    /// The tags of values without a D-Bus type.
    enum Tag: String, CaseIterable {
        case null, date, uuid, url, set

        var key: String { "$" + self.rawValue }
    }

    /// Escapes a key that begins with `$` with one more `$`, so that it is not parsed as a tag.
    static func escape(_ key: String) -> String {
        key.utf8.first == UInt8(ascii: "$") ? "$" + key : key
    }

    /// The D-Bus type signature of a value.
    static func signature(_ value: Value) -> String {
        switch value {
        case .bool: "b"
        case .integer: "x"
        case .unsigned(let number): number <= UInt64(Int64.max) ? "x" : "t"
        case .double: "d"
        case .string: "s"
        case .data: "ay"
        case .null, .date, .uuid, .url, .set, .dictionary: Self.dictionary
        case .array(let array): "a" + Self.elementSignature(array)
        }
    }

    /// The common type of all elements; `v` if the elements have several types or there are none.
    static func elementSignature(_ elements: some Sequence<Value>) -> String {
        var common: String?
        for element in elements {
            let signature = Self.signature(element)
            guard common == nil || common == signature else { return "v" }
            common = signature
        }
        return common ?? "v"
    }

    // MARK: Validation

    /// The maximum number of nested containers: arrays, dictionary entries, structures and variants together.
    ///
    /// This is the limit of dbus-daemon and GDBus. The bus closes the connection of a program that exceeds it.
    static let maxDepth = 64

    static func validate(_ set: ValueSet) throws(ValueSetError) {
        try Self.validate(set, depth: 0)
    }

    /// Checks that D-Bus can represent the entries of a set.
    ///
    /// - Parameter depth: The number of enclosing containers.
    private static func validate(_ set: ValueSet, depth: Int) throws(ValueSetError) {
        try Self.check(depth: depth + 2)
        for (key, value) in set {
            do {
                try Self.check(text: key)
                // Each value is inside an array, a dictionary entry and a variant.
                try Self.validate(value, depth: depth + 3)
            } catch {
                throw error.inside(key: key)
            }
        }
    }

    private static func validate(_ value: Value, depth: Int) throws(ValueSetError) {
        try Self.check(depth: depth)
        switch value {
        case .bool, .integer, .unsigned, .double: break
        case .string(let text): try Self.check(text: text)
        case .data: try Self.check(depth: depth + 1)
        case .null, .uuid: try Self.check(depth: depth + 3)
        case .date(let seconds):
            guard seconds.isFinite else {
                throw ValueSetError(.notRepresentable, "A date is infinite or not a number.")
            }
            try Self.check(depth: depth + 3)
        case .url(let url):
            guard let text = Self.text(of: url) else {
                throw ValueSetError(.notRepresentable, "A URL has no scheme, or parsing changes it.")
            }
            try Self.check(text: text)
            try Self.check(depth: depth + 3)
        case .dictionary(let set): try Self.validate(set, depth: depth)
        case .set(let set): try Self.validate(Array(set), depth: depth + 3)
        case .array(let array): try Self.validate(array, depth: depth)
        }
    }

    private static func validate(_ elements: [Value], depth: Int) throws(ValueSetError) {
        let inner = depth + (Self.elementSignature(elements) == "v" ? 2 : 1)
        try Self.check(depth: inner)
        for (index, element) in elements.enumerated() {
            do {
                try Self.validate(element, depth: inner)
            } catch {
                throw error.inside(index: index)
            }
        }
    }

    /// The text of an absolute URL that is read back unchanged; `nil` for any other URL.
    private static func text(of url: URL) -> String? {
        let text = url.absoluteString
        return Self.url(text) == url ? text : nil
    }

    static func url(_ text: String) -> URL? {
        guard let url = URL(string: text), url.scheme != nil, url.absoluteString == text else { return nil }
        return url
    }

    private static func check(depth: Int) throws(ValueSetError) {
        guard depth > Self.maxDepth else { return }
        throw ValueSetError(
            .limitExceeded,
            "Collections are nested too deeply for D-Bus: a dictionary counts as three containers, an array as 1 or 2.",
            found: "\(depth) containers",
            allowed: "\(Self.maxDepth)"
        )
    }

    private static func check(text: String) throws(ValueSetError) {
        guard text.utf8.contains(0) else { return }
        throw ValueSetError(
            .notRepresentable,
            "Text with a NUL character cannot be sent over D-Bus. Send it as data.",
            found: "U+0000"
        )
    }
}
