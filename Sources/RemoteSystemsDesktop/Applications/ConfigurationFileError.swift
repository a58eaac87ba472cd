// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// A problem of a hand-written file, with its path and line.
public struct ConfigurationFileError: Error, Sendable, Hashable {
    /// The path of the file.
    public var path: String
    /// The line, counted from 1; `nil` if the problem has no place in the file.
    public var line: Int?
    /// The problem and the correct form, as a sentence.
    public var message: String

    package init(path: String, line: Int? = nil, _ message: String) {
        self.path = path
        self.line = line
        // The message may quote the file, whose text could send escape sequences to a terminal or a log.
        self.message = message.withoutControlCharacters
    }
}

extension ConfigurationFileError: CustomStringConvertible {
    /// The error in the form `file:line: message`, as compilers print it.
    public var description: String {
        "\(self.path.withoutControlCharacters):\(self.line.map { "\($0):" } ?? "") \(self.message)"
    }
}
