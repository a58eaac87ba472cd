// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CBenchSupport
import Glibc

/// The shared memory in which the preloaded library counts a child's allocations.
final class SharedCounter: Sendable {
    let descriptor: Int32

    init() throws {
        descriptor = bench_shared_memory(4096)
        guard descriptor >= 0 else { throw BenchError("The shared memory cannot be created.") }
    }

    deinit {
        close(descriptor)
    }

    /// The number of allocations of the child so far.
    func allocations() throws -> Int64 {
        var counter = bench_allocation_counter()
        let size = MemoryLayout<bench_allocation_counter>.size
        guard unsafe pread(descriptor, &counter, size, 0) == size else {
            throw BenchError("The shared memory cannot be read.")
        }
        return Int64(clamping: counter.allocations)
    }
}
