// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Replaces the C library's allocation functions with ones that count the allocated bytes and forward to glibc. libFuzzer
// alone can only limit the resident memory of the whole process, which its corpus dominates.

#define _GNU_SOURCE

#include "include/CFuzzSupport.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static ptrdiff_t bytes;
static ptrdiff_t peak;

ptrdiff_t fuzz_heap_bytes(void) { return __atomic_load_n(&bytes, __ATOMIC_RELAXED); }

ptrdiff_t fuzz_heap_peak(void) { return __atomic_load_n(&peak, __ATOMIC_RELAXED); }

void fuzz_heap_reset_peak(void) { __atomic_store_n(&peak, fuzz_heap_bytes(), __ATOMIC_RELAXED); }

__attribute__((no_sanitize("coverage"))) static inline void *count(void *memory) {
    if (memory == NULL) return NULL;
    ptrdiff_t now = __atomic_add_fetch(&bytes, (ptrdiff_t)malloc_usable_size(memory), __ATOMIC_RELAXED);
    if (now > __atomic_load_n(&peak, __ATOMIC_RELAXED)) __atomic_store_n(&peak, now, __ATOMIC_RELAXED);
    return memory;
}

__attribute__((no_sanitize("coverage"))) static inline void discount(void *memory) {
    if (memory != NULL) __atomic_sub_fetch(&bytes, (ptrdiff_t)malloc_usable_size(memory), __ATOMIC_RELAXED);
}

__attribute__((no_sanitize("coverage"))) void *malloc(size_t size) { return count(__libc_malloc(size)); }

__attribute__((no_sanitize("coverage"))) void *calloc(size_t number, size_t size) {
    return count(__libc_calloc(number, size));
}

__attribute__((no_sanitize("coverage"))) void *realloc(void *old, size_t size) {
    ptrdiff_t freed = old == NULL ? 0 : (ptrdiff_t)malloc_usable_size(old);
    void *memory = __libc_realloc(old, size);
    // A failed call frees nothing, except with a size of 0.
    if (memory != NULL || size == 0) __atomic_sub_fetch(&bytes, freed, __ATOMIC_RELAXED);
    return count(memory);
}

__attribute__((no_sanitize("coverage"))) void free(void *memory) {
    discount(memory);
    __libc_free(memory);
}

__attribute__((no_sanitize("coverage"))) void *memalign(size_t alignment, size_t size) {
    return count(__libc_memalign(alignment, size));
}

__attribute__((no_sanitize("coverage"))) void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

__attribute__((no_sanitize("coverage"))) int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *memory = memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}
