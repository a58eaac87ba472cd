// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// What a program was given, in a file that is there only once it is whole.
enum Record {
    static func write(_ arguments: [String], to path: String) {
        let bytes = arguments.flatMap { Array($0.utf8) + [0] }
        try? Data(bytes).write(to: URL(filePath: path), options: .atomic)
    }
}
