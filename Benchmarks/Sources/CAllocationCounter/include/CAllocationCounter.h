// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef C_ALLOCATION_COUNTER_H
#define C_ALLOCATION_COUNTER_H

#include <stdint.h>

/// What the library writes at the start of the memory that the parent shares as descriptor 3.
struct allocation_counter {
    uint64_t allocations;
    uint64_t bytes;
};

#endif
