// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CBenchSupport

/// The time of the monotonic clock, which all processes of the machine share, in nanoseconds.
@inline(__always)
func monotonicNanoseconds() -> Int64 {
    bench_monotonic_nanoseconds()
}
