// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// A preloaded library that counts every call that allocates memory and forwards it to glibc. The counts are in memory
// shared with the parent process, which can read them at any time.

#define _GNU_SOURCE

#include <CBenchSupport.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static struct bench_allocation_counter unshared;
static struct bench_allocation_counter *counter = &unshared;

__attribute__((constructor)) static void share(void) {
    const int access = PROT_READ | PROT_WRITE;
    void *page = mmap(NULL, sizeof *counter, access, MAP_SHARED, BENCH_SHARED_DESCRIPTOR, 0);
    if (page == MAP_FAILED) return;
    fcntl(BENCH_SHARED_DESCRIPTOR, F_SETFD, FD_CLOEXEC);
    counter = page;
}

static inline void count(size_t bytes) {
    __atomic_fetch_add(&counter->allocations, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counter->bytes, bytes, __ATOMIC_RELAXED);
}

void *malloc(size_t bytes) {
    count(bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes) {
    count(number * bytes);
    return __libc_calloc(number, bytes);
}

void *realloc(void *old, size_t bytes) {
    count(bytes);
    return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    count(bytes);
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *memory = memalign(alignment, bytes);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}
