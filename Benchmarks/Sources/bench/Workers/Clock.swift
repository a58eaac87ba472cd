// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CBenchSupport

/// Nanoseconds of a clock that never goes back and that all processes of the machine share.
@inline(__always)
func monotonicNanoseconds() -> Int64 {
    bench_monotonic_nanoseconds()
}
