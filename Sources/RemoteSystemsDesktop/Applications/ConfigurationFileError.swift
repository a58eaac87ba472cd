// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What is wrong with a file that a person has written, and where in it.
public struct ConfigurationFileError: Error, Sendable, Hashable {
    /// The file.
    public var path: String
    /// The line, counted from 1; `nil` when it is not about a place in the file.
    public var line: Int?
    /// What is wrong and what would be right, in a sentence.
    public var message: String

    package init(path: String, line: Int? = nil, _ message: String) {
        self.path = path
        self.line = line
        self.message = message
    }
}

extension ConfigurationFileError: CustomStringConvertible {
    /// `file:line: message`, as compilers print it.
    public var description: String {
        "\(self.path):\(self.line.map { "\($0):" } ?? "") \(self.message)"
    }
}
