// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Records a program's arguments in a file that appears only once it is complete.
enum Record {
    static func write(_ arguments: [String], to path: String) {
        let bytes: [UInt8] = arguments.flatMap { Array($0.utf8) + [0 as UInt8] }
        try? Data(bytes).write(to: URL(filePath: path), options: .atomic)
    }

    /// Prints a line and flushes it, since output to a pipe is buffered.
    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe Glibc.write(STDOUT_FILENO, bytes, bytes.count)
    }
}
