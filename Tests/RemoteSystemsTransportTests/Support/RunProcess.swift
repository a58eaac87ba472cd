// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// Runs a program and waits for its end without blocking other tests.
///
/// - Returns: Its standard output.
@discardableResult
func runProcess(_ path: String, _ arguments: [String]) async throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
    // Never on the threads of Swift's tasks, of which there may be only two.
    let data: Data = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
            // A `Process` is released only after this call.
            process.waitUntilExit()
            continuation.resume(returning: data)
        }
    }
    guard process.terminationStatus == 0 else {
        throw NotInTime(what: "the end of \(path) with status 0 (it was \(process.terminationStatus))")
    }
    return data
}
