// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Tells the thread sanitizer about two parts of Swift on Linux that are not instrumented. Scripts/sanitize preloads this
// library. Its functions replace those of Swift, call the originals, and add what these guarantee. Nothing is suppressed,
// so a real race is reported.
//
// Synchronization.Mutex: the fast path is inlined into the code that uses it, as an atomic operation that the sanitizer
// sees. The slow path is a function of libswiftSynchronization: the kernel changes the lock word there (FUTEX_LOCK_PI and
// FUTEX_UNLOCK_PI). So the sanitizer reports a race after each lock that another thread had to hand over, unless it is
// told that taking the lock acquires what releasing it has released.
//
// Continuations: resuming one releases for the sanitizer, and a task acquires when it runs as a new job. A task that finds
// its continuation resumed already goes on at once, and swift_continuation_await acquires nothing then.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The calling convention of Swift passes the lock as the context.
#define SWIFT __attribute__((swiftcall))
#define LOCK __attribute__((swift_context)) void *lock

// The mangled names of _MutexHandle's methods.
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Of the sanitizer's runtime, which only instrumented programs have.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static void *original(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        fprintf(stderr, "tsan_swift: this version of Swift has no %s\n", name);
        abort();
    }
    return function;
}

SWIFT void lock_slow(uint32_t thread, LOCK) __asm__(LOCK_SLOW);
SWIFT void lock_slow(uint32_t thread, LOCK) {
    ((SWIFT void (*)(uint32_t, LOCK))original(LOCK_SLOW))(thread, lock);
    if (__tsan_acquire) __tsan_acquire(lock);
}

SWIFT bool try_lock_slow(LOCK) __asm__(TRY_LOCK_SLOW);
SWIFT bool try_lock_slow(LOCK) {
    bool is_locked = ((SWIFT bool (*)(LOCK))original(TRY_LOCK_SLOW))(lock);
    if (is_locked && __tsan_acquire) __tsan_acquire(lock);
    return is_locked;
}

SWIFT void unlock_slow(LOCK) __asm__(UNLOCK_SLOW);
SWIFT void unlock_slow(LOCK) {
    if (__tsan_release) __tsan_release(lock);
    ((SWIFT void (*)(LOCK))original(UNLOCK_SLOW))(lock);
}

// The state of a continuation, the fourth word of its context: 2 if it was resumed.
#define STATE 3
#define RESUMED 2

extern SWIFT void *swift_task_getCurrent(void);

__attribute__((swiftasynccall)) void swift_continuation_await(void **context) {
    void *function = original("swift_continuation_await");
    if (__tsan_acquire && atomic_load((_Atomic(uintptr_t) *)(context + STATE)) == RESUMED) {
        __tsan_acquire(swift_task_getCurrent());
    }
    __attribute__((musttail)) return ((__attribute__((swiftasynccall)) void (*)(void **))function)(context);
}
