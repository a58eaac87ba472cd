// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// What Scripts/sanitize tries before it trusts the thread sanitizer: four threads that compete for a mutex, and with
// the argument "race" also change a value without it; and a thread that changes a value, then resumes a continuation
// before its task waits for it.

import Foundation
import Synchronization

final class Counters: @unchecked Sendable {
    let guarded = Mutex(0)
    var unguarded = 0
}

let counters = Counters()
let races = CommandLine.arguments.last == "race"
await withTaskGroup(of: Void.self) { group in
    for _ in 0..<4 {
        group.addTask {
            for _ in 0..<50_000 {
                counters.guarded.withLock { $0 += 1 }
                if races { counters.unguarded += 1 }
            }
        }
    }
}
precondition(counters.guarded.withLock { $0 } == 200_000)

// Unchecked on purpose: only the continuation orders the accesses to `value`.
final class Resumed: @unchecked Sendable {
    var value = 0
    let isDone = Atomic(false)
}

await withTaskGroup(of: Void.self) { group in
    for _ in 0..<100 {
        group.addTask {
            let resumed = Resumed()
            await withUnsafeContinuation { continuation in
                Thread.detachNewThread {
                    resumed.value = 1
                    continuation.resume()
                    // Orders nothing: only the continuation does.
                    resumed.isDone.store(true, ordering: .relaxed)
                }
                while !resumed.isDone.load(ordering: .relaxed) { usleep(10) }
            }
            precondition(resumed.value == 1)
        }
    }
}
