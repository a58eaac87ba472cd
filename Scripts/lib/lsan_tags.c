// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Makes Swift's tagged references known to the leak sanitizer. Scripts/sanitize preloads this library.
//
// The leak sanitizer searches memory for words that are addresses. Swift stores some references in another form: an
// enumeration keeps its case in unused bits of its payload's address, and an object with weak references keeps the
// address of their table shifted by three bits. What only such words refer to is reported as leaked although the
// program can reach it. When the program exits, this library copies the addresses in such words to a region that the
// sanitizer searches, too, and starts the search. ASAN_OPTIONS=leak_check_at_exit=0 avoids the sanitizer's own one.
//
// Words in freed memory do not count. A leaked object that only leaked objects refer to, with such a word, is not
// reported by itself. The object at the beginning of such a chain is.

#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

// Of the sanitizer's runtime, which only instrumented programs have.
extern void __lsan_register_root_region(const void *begin, size_t size) __attribute__((weak));
extern int __asan_address_is_poisoned(void const volatile *address) __attribute__((weak));
extern void __asan_get_shadow_mapping(size_t *scale, size_t *offset) __attribute__((weak));
extern void __lsan_do_leak_check(void) __attribute__((weak));

// The bits of a word that are no part of an address on x86-64 and AArch64: Swift's spare bits at the top.
#define ADDRESS_MASK UINT64_C(0x00ffffffffffffff)
// The two highest bits mark an object's reference counts that are in a table, with its address shifted by three bits.
#define TABLE_MARK UINT64_C(0xc000000000000000)
// No address of a user's program is as great on either of them, with 47 or 48 bits of addresses.
#define ADDRESS_END UINT64_C(0x0001000000000000)

typedef struct {
    uint64_t begin, end;
} Area;

// More mappings than a program of tests has. More are an error, because their words would be missing.
#define MAX_AREAS 65536
static Area areas[MAX_AREAS];
static size_t area_count;

// The addresses, in one mapping. The kernel provides its pages as they are used.
#define MAX_ADDRESSES (UINT64_C(1) << 26)
static uint64_t *addresses;
static size_t address_count;

static void fail(const char *reason) {
    fprintf(stderr, "lsan_tags: %s\n", reason);
    _Exit(1);
}

// Reads which memory the program can write, without the sanitizer's own. The list is sorted.
static void read_areas(void) {
    size_t scale = 0, offset = 0;
    __asan_get_shadow_mapping(&scale, &offset);
    uint64_t shadow_end = (ADDRESS_END >> scale) + offset;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) fail("/proc/self/maps cannot be read");
    char line[4352];
    while (fgets(line, sizeof line, maps) != NULL) {
        Area area;
        char access[5];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &area.begin, &area.end, access) != 3) continue;
        if (access[0] != 'r' || access[1] != 'w' || area.end > ADDRESS_END) continue;
        if (area.begin < shadow_end && area.end > offset) continue;
        if (area_count == MAX_AREAS) fail("too many mappings");
        areas[area_count++] = area;
    }
    fclose(maps);
}

static bool is_in_area(uint64_t address) {
    size_t low = 0, high = area_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (areas[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < area_count && areas[low].begin <= address;
}

static void add(uint64_t address) {
    if (address == 0 || address >= ADDRESS_END || !is_in_area(address)) return;
    if (address_count == MAX_ADDRESSES) fail("too many addresses");
    addresses[address_count++] = address;
}

// A part of the program's memory is copied here before it is searched.
#define COPIED_BYTES 65536
static uint64_t *copy;

// Other threads still run, and may unmap an area meanwhile. The kernel copies what is there.
static void search(Area area) {
    for (uint64_t begin = area.begin; begin < area.end; begin += COPIED_BYTES) {
        size_t size = area.end - begin < COPIED_BYTES ? area.end - begin : COPIED_BYTES;
        struct iovec to = {copy, size}, from = {(void *)begin, size};
        ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        for (ssize_t index = 0; index < copied / (ssize_t)sizeof(uint64_t); index++) {
            uint64_t word = copy[index];
            if (word < ADDRESS_END) continue;
            if (__asan_address_is_poisoned((void *)(begin + index * sizeof(uint64_t)))) continue;
            add(word & ADDRESS_MASK);
            if ((word & TABLE_MARK) == TABLE_MARK) add((word & ~TABLE_MARK) << 3);
        }
    }
}

static void *map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fail("no memory");
    return memory;
}

static void check(void) {
    read_areas();
    addresses = map(MAX_ADDRESSES * sizeof(uint64_t));
    copy = map(COPIED_BYTES);
    for (size_t index = 0; index < area_count; index++) search(areas[index]);
    munmap(copy, COPIED_BYTES);
    __lsan_register_root_region(addresses, address_count * sizeof(uint64_t));
    __lsan_do_leak_check();
}

__attribute__((constructor)) static void begin(void) {
    if (__lsan_do_leak_check && __lsan_register_root_region && __asan_address_is_poisoned && __asan_get_shadow_mapping) {
        atexit(check);
    }
}
