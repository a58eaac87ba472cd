// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The files that continuation streams and their control send and receive, in the directory of the run.
enum StreamedFiles {
    /// Creates the file that is sent, unless it exists.
    static func sent(megabytes: Int, in directory: String) throws -> String {
        let path = "\(directory)/sent-\(megabytes)"
        guard !FileManager.default.fileExists(atPath: path) else { return path }
        try Data(repeating: 7, count: megabytes << 20).write(to: URL(filePath: path))
        return path
    }

    static func received(in directory: String) -> String { "\(directory)/received" }
}
