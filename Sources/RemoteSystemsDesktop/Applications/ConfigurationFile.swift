// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A JSON file that a person has written. Whatever is wrong in it is told with its line.
package struct ConfigurationFile: Sendable {
    package let path: String
    package let bytes: [UInt8]

    /// Reads a file of at most so many bytes; `nil` when there is none.
    package init?(path: String, limit: Int = 64 << 10) throws(ConfigurationFileError) {
        func failed(_ reason: String) -> ConfigurationFileError {
            ConfigurationFileError(path: path, "It cannot be read: \(reason).")
        }
        // Not blocking: a named pipe put there must not hang us.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failed(unsafe String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        guard remote_systems_is_plain_file(descriptor) != 0 else { throw failed("it is not a plain file") }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failed(unsafe String(cString: strerror(errno))) }
            guard count > 0 else { break }
            bytes += buffer[..<count]
            guard bytes.count <= limit else {
                throw ConfigurationFileError(path: path, "It is longer than the \(limit) bytes that are read.")
            }
        }
        self.init(path: path, bytes: bytes)
    }

    package init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    /// Decodes it.
    ///
    /// - Throws: the first of the problems that ``decode(_:problems:)`` reports.
    package func decode<Content: Decodable>(_ type: Content.Type) throws(ConfigurationFileError) -> Content {
        var problems: [ConfigurationFileError] = []
        let content = self.decode(type, problems: &problems)
        if let first = problems.first { throw first }
        guard let content else { throw ConfigurationFileError(path: self.path, "It cannot be read.") }
        return content
    }

    /// Decodes it, and adds everything that is wrong with it to `problems`, by line. Keys that are not known are wrong.
    ///
    /// - Returns: `nil` if anything is wrong.
    package func decode<Content: Decodable>(
        _ type: Content.Type,
        problems: inout [ConfigurationFileError]
    ) -> Content? {
        self.decode(type, noting: nil, problems: &problems)
    }

    /// Decodes it, and adds everything that is wrong with it to `problems`, by line.
    ///
    /// - Parameter unknown: collects the keys that are not known; without it they are refused.
    /// - Returns: `nil` if anything is wrong.
    func decode<Content: Decodable>(
        _ type: Content.Type,
        noting unknown: UnknownKeys?,
        problems: inout [ConfigurationFileError]
    ) -> Content? {
        let lines = JSONLines(self.bytes)
        if let line = lines.brokenLine {
            problems.append(self.notJSON(line: line))
            return nil
        }
        var found = lines.duplicates.map { duplicate in
            ConfigurationFileError(
                path: self.path,
                line: lines.line(of: duplicate),
                "'\(duplicate.last ?? "")' is there twice."
            )
        }
        let collected = FileProblems()
        let decoder = JSONDecoder()
        decoder.userInfo = [CodingUserInfoKey: any Sendable](noting: collected)
        unknown?.note(from: decoder)
        var content: Content?
        do {
            content = try decoder.decode(type, from: Data(self.bytes))
        } catch let error as DecodingError {
            collected.note(error)
        } catch {
            found.append(ConfigurationFileError(path: self.path, "It cannot be read: \(error)"))
        }
        for error in collected.all {
            let (path, message) = Self.explain(error)
            let problem = ConfigurationFileError(path: self.path, line: lines.line(of: path), message)
            if !found.contains(problem) { found.append(problem) }
        }
        problems += found.enumerated().sorted { ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset) }
            .map(\.element)
        return found.isEmpty ? content : nil
    }

    /// Says where the text stops being JSON, and what is missing there.
    private func notJSON(line: Int) -> ConfigurationFileError {
        do throws(ValueSetError) {
            _ = try Value(json: Data(self.bytes))
        } catch {
            if error.code == .invalidJSON, let offset = error.byteOffset {
                let line = self.bytes.prefix(offset).count { $0 == UInt8(ascii: "\n") } + 1
                return ConfigurationFileError(path: self.path, line: line, "\(error.message) (At byte \(offset).)")
            }
        }
        // What a value may be, and a setting may not: a number beyond a double, or arrays nested very deep.
        return ConfigurationFileError(
            path: self.path,
            line: line,
            "The text is not valid JSON that can be used here: a number is out of range, or arrays are nested too deep."
        )
    }

    /// An error about the value at a path.
    package func error(at path: [String], _ message: String) -> ConfigurationFileError {
        ConfigurationFileError(path: self.path, line: JSONLines(self.bytes).line(of: path), message)
    }

    private static func explain(_ error: DecodingError) -> (path: [String], message: String) {
        func names(_ path: [any CodingKey]) -> [String] {
            path.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }
        }
        func place(_ path: [String]) -> String { path.isEmpty ? "The whole" : "'\(path.joined(separator: "."))'" }
        switch error {
        case .keyNotFound(let key, let context):
            return (names(context.codingPath), "'\(key.stringValue)' is missing.")
        case .typeMismatch(let type, let context):
            let path = names(context.codingPath)
            return (path, "\(place(path)) must be \(Self.name(of: type)).")
        case .valueNotFound(let type, let context):
            let path = names(context.codingPath)
            return (path, "\(place(path)) must be \(Self.name(of: type)), and not null.")
        case .dataCorrupted(let context):
            return (names(context.codingPath), context.debugDescription)
        @unknown default:
            return ([], "It cannot be read: \(error)")
        }
    }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is Int.Type, is Double.Type: "a number"
        case is any Sequence.Type where "\(type)".hasPrefix("Dictionary"): "an object"
        case is any Sequence.Type: "an array"
        default: "an object"
        }
    }
}

// MARK: - For types that are decoded from such files

/// A key as it stands in the file.
struct FileKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// A container in which every key must be known: one that is misspelt is told, and not passed over.
    package func strictContainer<Key: CodingKey & CaseIterable>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        let known = Key.allCases.map(\.stringValue)
        for key in try self.container(keyedBy: FileKey.self).allKeys where !known.contains(key.stringValue) {
            let question = SimilarNames.question(for: key.stringValue, among: known)
            try self.report(
                DecodingError.dataCorrupted(
                    DecodingError.Context(
                        codingPath: self.codingPath + [key],
                        debugDescription: "'\(key.stringValue)' is not known here.\(question) Known are: "
                            + "\(known.joined(separator: ", "))."
                    )
                )
            )
        }
        return try self.container(keyedBy: type)
    }
}

extension KeyedDecodingContainer {
    /// A string of so many bytes, which others can be told as it is.
    package func text(_ key: Key, bytes: ClosedRange<Int> = 1...1024) throws -> String {
        let text = try self.decode(String.self, forKey: key)
        guard bytes.contains(text.utf8.count) else {
            throw self.invalid(key, "takes \(bytes.lowerBound) to \(bytes.upperBound) bytes")
        }
        guard text.isShownAsIs else {
            throw self.invalid(key, "takes no control characters, line breaks or invisible characters")
        }
        return text
    }

    /// A whole number. Of one that is not, JSONDecoder would say neither where it stands nor what is wrong with it.
    package func wholeNumber(_ key: Key) throws -> Int {
        guard let number = Int(exactly: try self.decode(Double.self, forKey: key)) else {
            throw self.invalid(key, "must be a whole number")
        }
        return number
    }

    /// A string of so many bytes, if the key is there.
    package func textIfPresent(_ key: Key) throws -> String? {
        self.contains(key) ? try self.text(key) : nil
    }

    /// An error about the value under the key.
    package func invalid(_ key: Key, _ message: String) -> DecodingError {
        DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "'\(key.stringValue)' \(message).")
    }
}
