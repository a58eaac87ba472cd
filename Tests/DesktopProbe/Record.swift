// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// What a program was given, in a file that is there only once it is whole.
enum Record {
    static func write(_ arguments: [String], to path: String) {
        let bytes: [UInt8] = arguments.flatMap { Array($0.utf8) + [0 as UInt8] }
        try? Data(bytes).write(to: URL(filePath: path), options: .atomic)
    }

    /// Prints a line that is there at once, for a pipe too.
    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe Glibc.write(STDOUT_FILENO, bytes, bytes.count)
    }
}
