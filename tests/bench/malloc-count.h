/* SPDX-License-Identifier: MIT */
/*
 * What malloc-count.so, preloaded into a process, writes into the file that MALLOC_COUNT names: how often each of its
 * threads allocated, and how many bytes were asked for. Readers map or read the file while the process goes on; all
 * numbers are 64 bits in the machine's order, slots that are not taken are zero.
 */
#pragma once

#include <stdint.h>

#define MALLOC_COUNT_SLOTS 1024

typedef struct MallocCountSlot {
    uint64_t tid;
    uint64_t calls; /* malloc, calloc, realloc, aligned_alloc and their like; free is not counted */
    uint64_t bytes;
} MallocCountSlot;
