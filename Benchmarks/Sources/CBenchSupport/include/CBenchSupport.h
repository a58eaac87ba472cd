// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef C_BENCH_SUPPORT_H
#define C_BENCH_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// Nanoseconds of the clock that every process of one machine shares.
static inline int64_t bench_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// A child process and this side's ends of its standard input and output.
struct bench_child {
    int pid;
    int input;
    int output;
};

/// The descriptor under which a child finds what its parent shared with it.
#define BENCH_SHARED_DESCRIPTOR 3

/// What the allocation counter writes at the start of the memory that a child's parent shares with it.
struct bench_allocation_counter {
    uint64_t allocations;
    uint64_t bytes;
};

/// Starts `arguments[0]` with the given environment; its standard error is the caller's own, or nowhere if `silent`.
///
/// The child is killed when the *thread* that called this ends, so call it on the main thread only. `shared` is a
/// descriptor to pass on as BENCH_SHARED_DESCRIPTOR, or -1. Returns 0 or an errno.
int bench_spawn(
    char *const arguments[], char *const environment[], int shared, bool silent, struct bench_child *child
);

/// A descriptor of `bytes` zeroed bytes of memory to be shared with a child, or -1.
int bench_shared_memory(long bytes);

/// Whether the child has ended and was waited for, or is no child of this process; does not block.
bool bench_has_ended(int pid);

/// Starts a thread that keeps the core from sleeping and gives way to everything else. Returns 0 or an errno.
int bench_keep_awake(int core);

#endif
