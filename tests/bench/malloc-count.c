/* SPDX-License-Identifier: MIT */
/*
 * malloc-count.so, for LD_PRELOAD: see malloc-count.h. Each thread counts in a slot of its own, so nobody waits; those
 * that find none share the last one. It uses glibc's own names of the functions that it stands before, and nothing that
 * is newer than glibc 2.17: it is also preloaded into programs of other systems.
 */
#include "tests/bench/malloc-count.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static MallocCountSlot *slots;
static unsigned taken;
static __thread MallocCountSlot *own __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void map_slots(void)
{
    const char *path = getenv("MALLOC_COUNT");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *mapped;

    if (fd < 0) {
        return;
    }
    mapped = mmap(NULL, MALLOC_COUNT_SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED) {
        memset(mapped, 0, MALLOC_COUNT_SLOTS * sizeof *slots); /* of the program that called execve() */
        __atomic_store_n(&slots, mapped, __ATOMIC_RELEASE);
    }
}

static void count(size_t bytes)
{
    MallocCountSlot *all = __atomic_load_n(&slots, __ATOMIC_ACQUIRE);

    if (all == NULL) {
        return;
    }
    if (own == NULL) {
        unsigned index = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);

        own = &all[index < MALLOC_COUNT_SLOTS ? index : MALLOC_COUNT_SLOTS - 1];
        __atomic_store_n(&own->tid, (uint64_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&own->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&own->bytes, bytes, __ATOMIC_RELAXED);
}

EXPORT void *malloc(size_t size)
{
    count(size);
    return __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
    count(n * size);
    return __libc_calloc(n, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
    count(size);
    return __libc_realloc(memory, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    count(size);
    return __libc_memalign(alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

EXPORT int posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
    void *memory = memalign(alignment, size);

    if (memory == NULL) {
        return ENOMEM;
    }
    *ret_memory = memory;
    return 0;
}
