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

/// A hand-written JSON file. All problems are reported with their lines.
package struct ConfigurationFile: Sendable {
    package let path: String
    package let bytes: [UInt8]

    /// Reads a file; `nil` if it does not exist.
    ///
    /// - Parameter limit: The maximum length, in bytes. Defaults to 64 KiB.
    /// - Throws: ``ConfigurationFileError`` if the file cannot be read, is not a plain file, or is too long, and if
    ///   another user than root and the user of this process can change it or its directory.
    package init?(path: String, limit: Int = 64 << 10) throws(ConfigurationFileError) {
        func failed(_ reason: String) -> ConfigurationFileError {
            ConfigurationFileError(path: path, "The file cannot be read: \(reason).")
        }
        // Non-blocking: opening a named pipe must not block.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failed(unsafe String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        guard remote_systems_is_plain_file(descriptor) != 0 else { throw failed("it is not a plain file") }
        guard let protection = FileProtection(descriptor: descriptor) else {
            throw failed(unsafe String(cString: strerror(errno)))
        }
        if let objection = protection.objection(to: path) ?? FileProtection.objection(toDirectoriesOf: path) {
            throw ConfigurationFileError(path: path, objection)
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failed(unsafe String(cString: strerror(errno))) }
            guard count > 0 else { break }
            bytes += buffer[..<count]
            guard bytes.count <= limit else {
                throw ConfigurationFileError(path: path, "The file is longer than \(limit) bytes, the maximum.")
            }
        }
        self.init(path: path, bytes: bytes)
    }

    package init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    /// Decodes the file.
    ///
    /// - Throws: The first of the problems that ``decode(_:problems:)`` reports.
    package func decode<Content: Decodable>(_ type: Content.Type) throws(ConfigurationFileError) -> Content {
        var problems: [ConfigurationFileError] = []
        let content = self.decode(type, problems: &problems)
        if let first = problems.first { throw first }
        guard let content else { throw ConfigurationFileError(path: self.path, "The file cannot be read.") }
        return content
    }

    /// Decodes the file and appends its problems to `problems`, in the order of lines. Unknown keys are problems.
    ///
    /// - Returns: `nil` if there is a problem.
    package func decode<Content: Decodable>(
        _ type: Content.Type,
        problems: inout [ConfigurationFileError]
    ) -> Content? {
        self.decode(type, noting: nil, problems: &problems)
    }

    /// Decodes what is valid of the file and appends the problems of the rest to `problems`, in the order of lines.
    /// Unknown keys are problems.
    ///
    /// - Returns: `nil` if the file is not JSON, or the whole of it has the wrong type.
    package func decodeWhatIsValid<Content: Decodable>(
        _ type: Content.Type,
        problems: inout [ConfigurationFileError]
    ) -> Content? {
        self.decodeParts(type, noting: nil, problems: &problems)
    }

    /// Decodes the file and appends its problems to `problems`, in the order of lines.
    ///
    /// - Parameter unknown: Collects unknown keys. If `nil`, unknown keys are problems.
    /// - Returns: `nil` if there is a problem.
    func decode<Content: Decodable>(
        _ type: Content.Type,
        noting unknown: UnknownKeys?,
        problems: inout [ConfigurationFileError]
    ) -> Content? {
        let before = problems.count
        let content = self.decodeParts(type, noting: unknown, problems: &problems)
        return problems.count == before ? content : nil
    }

    private func decodeParts<Content: Decodable>(
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
            found.append(ConfigurationFileError(path: self.path, "The file cannot be read: \(error)"))
        }
        for error in collected.all {
            let (path, message) = Self.explain(error)
            let problem = ConfigurationFileError(path: self.path, line: lines.line(of: path), message)
            if !found.contains(problem) { found.append(problem) }
        }
        problems += found.enumerated().sorted { ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset) }
            .map(\.element)
        return content
    }

    /// The error for a text that is not JSON, with the place and the reason.
    private func notJSON(line: Int) -> ConfigurationFileError {
        do throws(ValueSetError) {
            _ = try Value(json: Data(self.bytes))
        } catch {
            if error.code == .invalidJSON, let offset = error.byteOffset {
                let line = self.bytes.prefix(offset).count { $0 == UInt8(ascii: "\n") } + 1
                return ConfigurationFileError(path: self.path, line: line, "\(error.message) (At byte \(offset).)")
            }
        }
        // `Value` accepts the text, but the decoder does not: a number beyond a double, or very deeply nested arrays.
        return ConfigurationFileError(
            path: self.path,
            line: line,
            "The JSON text cannot be used here: a number is out of range, or arrays are nested too deeply."
        )
    }

    /// Creates an error about the value at a path.
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
            return ([], "The file cannot be read: \(error)")
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

/// A key of the file, known or not.
struct FileKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Returns a container in which every key must be known. Reports unknown keys as problems.
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
    /// Decodes a string of so many bytes without control, line-breaking or invisible characters.
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

    /// Decodes a whole number.
    ///
    /// Decoding `Int` directly would make JSONDecoder report other numbers without their place and a reason.
    package func wholeNumber(_ key: Key) throws -> Int {
        guard let number = Int(exactly: try self.decode(Double.self, forKey: key)) else {
            throw self.invalid(key, "must be a whole number")
        }
        return number
    }

    /// Decodes a string like ``text(_:bytes:)``; `nil` if the key is missing.
    package func textIfPresent(_ key: Key) throws -> String? {
        self.contains(key) ? try self.text(key) : nil
    }

    /// Creates an error about the value of a key.
    package func invalid(_ key: Key, _ message: String) -> DecodingError {
        DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "'\(key.stringValue)' \(message).")
    }
}
