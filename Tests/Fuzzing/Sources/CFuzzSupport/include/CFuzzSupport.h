// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef C_FUZZ_SUPPORT_H
#define C_FUZZ_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

/// Returns the number of bytes that the process has allocated and not freed.
ptrdiff_t fuzz_heap_bytes(void);

/// Returns the maximum of `fuzz_heap_bytes` since the last call of `fuzz_heap_reset_peak`.
ptrdiff_t fuzz_heap_peak(void);

void fuzz_heap_reset_peak(void);

/// Mutates bytes in place as libFuzzer does without a custom mutator. Returns the new length.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#endif
