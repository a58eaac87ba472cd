// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The coding of files that this layer keeps with the account: a JSON object with the key `version`, which decides how
/// to read the rest.
enum VersionedFile {
    /// The reason why a file cannot be used.
    enum Failure: Error {
        /// A newer version of the software wrote the file.
        case newerVersion
        case damaged
    }

    private struct Format: Codable {
        var version: Int
    }

    static func read<Contents: Decodable>(_ file: [UInt8], version: Int) throws(Failure) -> Contents {
        let data = Data(file)
        guard let format = try? JSONDecoder().decode(Format.self, from: data) else { throw .damaged }
        guard format.version <= version else { throw .newerVersion }
        guard let contents = try? JSONDecoder().decode(Contents.self, from: data) else { throw .damaged }
        return contents
    }

    static func bytes(_ contents: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return Array(try encoder.encode(contents))
    }
}
