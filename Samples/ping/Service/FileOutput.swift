// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Unbuffered standard output, so that a reader of a pipe gets each line at once.
struct FileOutput {
    static let standardOutput = FileOutput()

    func writeLine(_ line: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }
}
