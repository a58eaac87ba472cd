// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Standard output without a buffer, so that a line is there as soon as it is written, for a pipe too.
struct FileOutput {
    static let standardOutput = FileOutput()

    func writeLine(_ line: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }
}
