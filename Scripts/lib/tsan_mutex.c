// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Tells the thread sanitizer about Swift's Synchronization.Mutex on Linux. Scripts/sanitize preloads this library.
//
// The lock's fast path is inlined into the code that uses it, as an atomic operation that the sanitizer sees. The slow
// path is a function of libswiftSynchronization, which is not instrumented: the kernel changes the lock word there
// (FUTEX_LOCK_PI and FUTEX_UNLOCK_PI). So the sanitizer reports a race after each lock that another thread had to hand
// over. These functions replace the slow path's, call the originals, and add what the originals guarantee: that taking
// the lock acquires what releasing it has released. Nothing is suppressed, so an access without the lock is reported.

#define _GNU_SOURCE
#include <dlfcn.h>
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
        fprintf(stderr, "tsan_mutex: this version of Swift has no %s\n", name);
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
