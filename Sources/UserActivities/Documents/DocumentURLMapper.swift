// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import RemoteSystems
internal import ValueSets

/// Translates the URLs of documents between systems that keep the same documents in different places.
///
/// An application registers its folders of documents under names that are the same on all systems. A `file:` URL inside
/// such a folder travels as `doc-root:NAME/PATH`, and arrives as the `file:` URL of the same document there. Another
/// `file:` URL is never sent, and never accepted.
///
/// ```swift
/// options.documents = try DocumentURLMapper(roots: ["notes": URL(filePath: "/srv/notes")])
/// ```
public struct DocumentURLMapper: Sendable, Hashable {
    /// The scheme of a document's URL on its way.
    public static let scheme = "doc-root"
    /// The maximum number of folders.
    public static let maxRoots = 64
    /// The maximum length of a path on Linux (`PATH_MAX`).
    private static let maxPathBytes = 4096

    /// The folders by their names, without symbolic links in their paths.
    private let roots: [String: String]

    /// Creates a mapper.
    ///
    /// - Parameter roots: the folders by their names. A name has 1 to 64 letters, digits, `-` and `_`. A folder is a
    ///   `file:` URL with an absolute path; it should exist. At most ``maxRoots``.
    /// - Throws: `RemoteSystemError` with the code `invalidArgument`.
    public init(roots: [String: URL]) throws(RemoteSystemError) {
        guard roots.count <= Self.maxRoots, roots.keys.allSatisfy(Self.isName),
            roots.values.allSatisfy({ $0.isFileURL && $0.path().hasPrefix("/") })
        else {
            throw RemoteSystemError(
                .invalidArgument,
                "A mapper takes up to \(Self.maxRoots) absolute folders, under names of 1 to 64 letters, digits, '-' "
                    + "and '_'.",
                side: .local
            )
        }
        self.roots = roots.compactMapValues(Self.canonicalPath)
    }

    /// A mapper without folders, which passes no `file:` URL.
    static let none = DocumentURLMapper()

    private init() { self.roots = [:] }

    /// Returns the URL that stands for a document in an activity's content: `doc-root:NAME/PATH`. The receiving system
    /// replaces it by the `file:` URL in its own folder of that name.
    ///
    /// - Parameter url: the document's `file:` URL.
    /// - Throws: `RemoteSystemError` with the code `invalidArgument` for a URL outside all folders.
    public func portable(_ url: URL) throws(RemoteSystemError) -> URL {
        let path = Self.canonicalPath(url) ?? ""
        // The innermost folder, if one is inside another.
        let matching = self.roots.filter { path.hasPrefix($0.value + "/") }.max { $0.value.count < $1.value.count }
        guard url.isFileURL, let (name, folder) = matching,
            let portable = URL(string: "\(Self.scheme):\(name)/\(Self.encoded(path.dropFirst(folder.count + 1)))")
        else {
            throw RemoteSystemError(
                .invalidArgument,
                "A file outside the application's document folders cannot be handed over. Its folder is not one of "
                    + "those that the application has registered (\(self.names)).",
                side: .local
            )
        }
        return portable
    }

    /// Returns the URL of a document on this system.
    ///
    /// - Parameter url: a URL with the scheme ``scheme``, in small or capital letters.
    /// - Throws: `RemoteSystemError` with the code `invalidArgument` for a folder that is not registered here, and for
    ///   a path that leads out of it.
    public func local(_ url: URL) throws(RemoteSystemError) -> URL {
        let text = url.absoluteString
        guard Self.isPortable(url) else { throw Self.invalid("It does not begin with \(Self.scheme):.") }
        let parts = text.dropFirst(Self.scheme.count + 1).split(
            separator: "/",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard parts.count == 2, let folder = self.roots[String(parts[0])] else {
            throw RemoteSystemError(
                .invalidArgument,
                "The document is in a folder that the application has not registered on this system "
                    + "(registered are \(self.names)).",
                side: .local
            )
        }
        var path = folder
        for component in parts[1].split(separator: "/", omittingEmptySubsequences: false) {
            guard let name = Self.decoded(component), !name.isEmpty, name != ".", name != "..",
                !name.utf8.contains(0), !name.utf8.contains(UInt8(ascii: "/"))
            else { throw Self.invalid("It contains '.', '..' or an empty part.") }
            path += "/" + name
        }
        // The search for the part that exists takes a step for each slash.
        guard path.utf8.count < Self.maxPathBytes else {
            throw Self.invalid("Its path has more than \(Self.maxPathBytes) bytes.")
        }
        // A symbolic link inside the folder must not lead out of it.
        guard Self.canonicalPath(URL(filePath: path))?.hasPrefix(folder + "/") == true else {
            throw Self.invalid("It leads out of its folder, or through a symbolic link to nothing.")
        }
        return URL(filePath: path)
    }

    /// Whether a URL stands for a document. Schemes do not depend on case (RFC 3986, section 3.1).
    private static func isPortable(_ url: URL) -> Bool { url.scheme?.lowercased() == Self.scheme }

    private var names: String {
        self.roots.isEmpty ? "none" : self.roots.keys.sorted().joined(separator: ", ")
    }

    private static func invalid(_ text: String) -> RemoteSystemError {
        RemoteSystemError(.invalidArgument, "The URL of the document is not valid. \(text)", side: .remote)
    }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
    }

    /// The absolute path without symbolic links and without a slash at its end; `nil` if it leads through a link to
    /// nothing, where another program could create a file. The last parts need not exist.
    private static func canonicalPath(_ url: URL) -> String? {
        var existing = url.standardizedFileURL
        var rest: [String] = []
        while existing.path() != "/", !FileManager.default.fileExists(atPath: Self.path(of: existing)) {
            let isLink = (try? FileManager.default.destinationOfSymbolicLink(atPath: Self.path(of: existing))) != nil
            guard !isLink else { return nil }
            rest.append(existing.lastPathComponent)
            existing.deleteLastPathComponent()
        }
        return rest.reversed().reduce(Self.path(of: existing.resolvingSymlinksInPath())) { "\($0)/\($1)" }
    }

    /// The path without a slash at its end, behind which a link could not be seen.
    private static func path(of url: URL) -> String {
        var path = url.path(percentEncoded: false)
        while path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// Encodes everything but unreserved characters and the slash (RFC 3986, section 2.3).
    private static func encoded(_ path: Substring) -> String {
        let digits = Array("0123456789ABCDEF")
        return path.utf8.reduce(into: "") { text, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "/"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }

    /// Decodes percent-encoding; `nil` if it is not valid, or not UTF-8.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2,
                let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension DocumentURLMapper {
    /// Translates all URLs of documents in an activity's content, for the way to another system.
    ///
    /// - Throws: `RemoteSystemError` for a `file:` URL outside all folders.
    func portable(_ content: ValueSet) throws(RemoteSystemError) -> ValueSet {
        try Self.map(content) { url throws(RemoteSystemError) in url.isFileURL ? try self.portable(url) : url }
    }

    /// Translates all URLs of documents in the content of another system's activity.
    ///
    /// - Throws: `RemoteSystemError` for a `file:` URL, and for a document that is in no folder of this system.
    func local(_ content: ValueSet) throws(RemoteSystemError) -> ValueSet {
        try Self.map(content) { url throws(RemoteSystemError) in
            guard !url.isFileURL else {
                throw RemoteSystemError(
                    .invalidArgument,
                    "The content names a file of the other system, which means nothing here.",
                    side: .remote
                )
            }
            return Self.isPortable(url) ? try self.local(url) : url
        }
    }

    private static func map(
        _ content: ValueSet,
        _ map: (URL) throws(RemoteSystemError) -> URL
    ) throws(RemoteSystemError) -> ValueSet {
        var result = content
        for (key, value) in content { result[key] = try Self.map(value, map) }
        return result
    }

    private static func map(
        _ value: Value,
        _ map: (URL) throws(RemoteSystemError) -> URL
    ) throws(RemoteSystemError) -> Value {
        if let url = value.url { return .url(try map(url)) }
        if let dictionary = value.dictionary { return .dictionary(try Self.map(dictionary, map)) }
        if let array = value.array {
            var mapped: [Value] = []
            for element in array { mapped.append(try Self.map(element, map)) }
            return .array(mapped)
        }
        if let set = value.set {
            var mapped: Set<Value> = []
            for element in set { mapped.insert(try Self.map(element, map)) }
            return .set(mapped)
        }
        return value
    }
}
