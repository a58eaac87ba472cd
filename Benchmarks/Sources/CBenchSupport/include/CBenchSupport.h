// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef C_BENCH_SUPPORT_H
#define C_BENCH_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// The time of the monotonic clock, which all processes of a machine share, in nanoseconds.
static inline int64_t bench_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// The processor time of all threads of a process, ended ones included, in nanoseconds; -1 on failure.
static inline int64_t bench_processor_nanoseconds(int pid) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/// A child process and the parent's ends of its standard input and output.
struct bench_child {
    int pid;
    int input;
    int output;
};

/// The file descriptor of the memory that the parent shares with a child.
#define BENCH_SHARED_DESCRIPTOR 3

/// The counts that the allocation counter writes to the start of the shared memory.
struct bench_allocation_counter {
    uint64_t allocations;
    uint64_t bytes;
};

/// Starts `arguments[0]` with the given environment. The child inherits standard error, unless `silent` discards it.
///
/// The kernel kills the child when the *thread* that called this function ends, so call it only on the main thread.
/// `shared` is a descriptor to pass on as BENCH_SHARED_DESCRIPTOR, or -1. Returns 0 or an errno.
int bench_spawn(
    char *const arguments[], char *const environment[], int shared, bool silent, struct bench_child *child
);

/// Returns a descriptor of `bytes` zeroed bytes of memory for sharing with a child, or -1.
int bench_shared_memory(long bytes);

/// Whether the child has ended and was reaped, or is no child of this process. Does not block.
bool bench_has_ended(int pid);

/// Starts a thread that keeps the core awake and yields to everything else. Returns 0 or an errno.
int bench_keep_awake(int core);

/// Limits a child to a quarter of one core, with all its threads, until bench_end_limit(). One child at a time.
///
/// A thread stops the child after each millisecond, until the time that it used is a quarter of the time that has
/// passed. Time that it does not use is not saved for later. Returns 0 or an errno.
int bench_begin_limit(int pid);

/// Ends the limit; the child runs on. It must not have been reaped before.
///
/// Returns the processor time of the child since the beginning of the limit, as a part of one core; 0 without a limit.
double bench_end_limit(void);

#endif
