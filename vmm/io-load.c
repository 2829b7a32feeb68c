/* SPDX-License-Identifier: MIT */
/*
 * See io-load.h. The object belongs to the main loop; what it sets going, a Load, to the disk's loop, where it
 * makes requests until it is told to end, has done what it had to, fails, or its disk goes. The object's end
 * tells it so, and waits for nothing.
 */
#include "vmm/io-load.h"

#include <stdlib.h>
#include <string.h>

#include "vmm/block.h"
#include "vmm/io-latency.h"

#define NS_PER_SEC G_GINT64_CONSTANT(1000000000)
#define MAX_WAIT_NS (NS_PER_SEC / 20) /* until it looks whether it is to end */

enum {
    SECTOR_SIZE = 512,
    BUFFER_ALIGNMENT = 4096,
    MAX_BLOCK_SIZE = 64 << 20,
    MAX_QUEUE_DEPTH = 1024,
    MAX_BUFFERS = 256 << 20, /* bytes under way */
    GATHERED_SIZE = 128 << 10,
    FILLER = 0x71,
};

typedef enum Pattern { PATTERN_READ, PATTERN_WRITE, PATTERN_RANDREAD, PATTERN_RANDWRITE } Pattern;
static const char *const pattern_names[] = {"read", "write", "randread", "randwrite", NULL};

typedef enum State { STATE_RUNNING, STATE_PAUSED, STATE_DONE, STATE_FAILED, STATE_GONE } State;
static const char *const state_names[] = {"running", "paused", "done", "failed", "disk-gone"};

typedef struct Load Load;

/* One of those that are under way at once. */
typedef struct Slot {
    BlockRequest request;
    Load *load;
    gboolean busy;
} Slot;

struct Load {
    Shared base;
    /* Constant. */
    Pattern pattern;
    guint64 request_size, limit;
    guint fsync, rate, n_slots;
    BlockLoop *loop;
    /* Any thread. */
    BlockStats *stats;
    IoLatency latency;
    gint state, is_ending; /* atomic */
    /* The loop's. */
    BlockDisk *disk; /* until it is over */
    BlockWatch watch;
    BlockTask start, stop, timer;
    gboolean timer_set;
    Slot *slots;
    void *buffers;
    guint n_busy;
    guint64 offset, random, bytes_issued, writes_since_flush;
    gint64 rate_start_ns;
    guint64 rate_issued;
};

typedef struct IoLoad {
    Object base;
    char *disk;
    int pattern;
    uint64_t block_size, limit;
    bool direct;
    uint32_t fsync, queue_depth, rate;
    Load *load; /* once it is complete; a reference */
} IoLoad;

/* ---- requests: the loop ---- */

static gboolean writes(const Load *load)
{
    return load->pattern == PATTERN_WRITE || load->pattern == PATTERN_RANDWRITE;
}

/* xorshift64*: the same at each run. */
static guint64 next_random(Load *load)
{
    load->random ^= load->random >> 12;
    load->random ^= load->random << 25;
    load->random ^= load->random >> 27;
    return load->random * G_GUINT64_CONSTANT(2685821657736338717);
}

/* Sequential ones begin anew at the end of the disk. */
static guint64 next_offset(Load *load, guint64 bytes)
{
    guint64 size = block_disk_size(load->disk), offset = load->offset;

    if (load->pattern == PATTERN_RANDREAD || load->pattern == PATTERN_RANDWRITE)
        return next_random(load) % MAX(size / bytes, 1) * bytes;
    if (offset + bytes > size)
        offset = 0;
    load->offset = offset + bytes;
    return offset;
}

static void pump(Load *load);

static void finish(Load *load, State state)
{
    block_disk_unwatch(load->disk, &load->watch);
    g_atomic_int_set(&load->state, state);
    free(g_steal_pointer(&load->buffers));
    g_clear_pointer(&load->slots, g_free);
    block_disk_release(load->disk);
    g_clear_pointer(&load->disk, block_disk_unref);
    shared_unref(&load->base);
}

static void request_done(BlockRequest *request)
{
    Slot *slot = (Slot *)request;
    Load *load = slot->load;
    gint64 now = request->start_ns + request->took_ns;

    slot->busy = FALSE;
    load->n_busy--;
    if (request->error) {
        block_stats_failed(load->stats, request->op, request->took_ns, now);
        if (!block_disk_is_closed(load->disk))
            g_atomic_int_set(&load->state, STATE_FAILED);
    } else {
        block_stats_done(load->stats, request->op, request->offset, request->bytes, request->took_ns, now);
        if (request->op != BLOCK_FLUSH)
            io_latency_add(&load->latency, (guint64)request->took_ns);
        if (request->op == BLOCK_WRITE)
            load->writes_since_flush++;
    }
    pump(load);
}

static void submit(Load *load, Slot *slot)
{
    BlockRequest *request = &slot->request;

    slot->busy = TRUE;
    load->n_busy++;
    request->done = request_done;
    if (load->fsync && load->writes_since_flush >= load->fsync) {
        load->writes_since_flush = 0;
        request->op = BLOCK_FLUSH;
        request->offset = request->bytes = 0;
    } else {
        request->op = writes(load) ? BLOCK_WRITE : BLOCK_READ;
        request->bytes = load->limit ? MIN(load->request_size, load->limit - load->bytes_issued) : load->request_size;
        request->offset = next_offset(load, request->bytes);
        load->bytes_issued += request->bytes;
        load->rate_issued++;
    }
    block_disk_submit(load->disk, request);
}

/* Nothing of it is left to be made, but for a last flush. */
static gboolean is_exhausted(const Load *load)
{
    return load->limit && load->bytes_issued >= load->limit &&
           !(load->fsync && load->writes_since_flush >= load->fsync);
}

/* How long the rate has it wait; 0: not at all. */
static gint64 rate_wait(Load *load)
{
    gint64 now = block_now_ns(), due;

    if (!load->rate)
        return 0;
    if (!load->rate_start_ns)
        load->rate_start_ns = now;
    due = load->rate_start_ns + (gint64)(load->rate_issued * NS_PER_SEC / load->rate);
    /* A second behind is lost: there is no burst to make up for it. */
    if (now - due > NS_PER_SEC) {
        load->rate_start_ns = now;
        load->rate_issued = 0;
        due = now;
    }
    return MAX(due - now, 0);
}

static Slot *free_slot(const Load *load)
{
    for (guint i = 0; i < load->n_slots; i++)
        if (!load->slots[i].busy)
            return &load->slots[i];
    return NULL;
}

/* TRUE: it is over. */
static gboolean finish_if_over(Load *load)
{
    State state = (State)g_atomic_int_get(&load->state);

    if (block_disk_is_closed(load->disk))
        state = STATE_GONE;
    else if (state == STATE_FAILED)
        ;
    else if (g_atomic_int_get(&load->is_ending) || is_exhausted(load))
        state = STATE_DONE;
    else
        return FALSE;
    if (load->n_busy == 0)
        finish(load, state);
    return TRUE;
}

static void wait_for_rate(Load *load, gint64 ns)
{
    if (load->timer_set)
        return;
    load->timer_set = TRUE;
    shared_ref(&load->base);
    block_loop_post_at(load->loop, &load->timer, block_now_ns() + MIN(ns, MAX_WAIT_NS));
}

/* Makes what can be made now. */
static void pump(Load *load)
{
    while (!finish_if_over(load)) {
        Slot *slot = free_slot(load);
        gint64 wait;

        if (!slot)
            return;
        if (block_disk_is_paused(load->disk)) {
            g_atomic_int_set(&load->state, STATE_PAUSED);
            return;
        }
        g_atomic_int_set(&load->state, STATE_RUNNING);
        wait = rate_wait(load);
        if (wait) {
            wait_for_rate(load, wait);
            return;
        }
        submit(load, slot);
    }
}

static Load *load_of(BlockTask *task, gsize offset)
{
    return (Load *)((char *)task - offset);
}

static void timer_done(BlockTask *task)
{
    Load *load = load_of(task, G_STRUCT_OFFSET(Load, timer));

    load->timer_set = FALSE;
    if (load->disk)
        pump(load);
    shared_unref(&load->base);
}

static void disk_changed(gpointer opaque)
{
    Load *load = opaque;

    load->rate_start_ns = 0;
    load->rate_issued = 0;
    pump(load);
}

static void start_done(BlockTask *task)
{
    Load *load = load_of(task, G_STRUCT_OFFSET(Load, start));

    load->watch = (BlockWatch){.changed = disk_changed, .opaque = load};
    block_disk_watch(load->disk, &load->watch);
    pump(load);
}

static void stop_done(BlockTask *task)
{
    Load *load = load_of(task, G_STRUCT_OFFSET(Load, stop));

    if (load->disk)
        pump(load);
    shared_unref(&load->base);
}

/* ---- the object: the main loop ---- */

static void load_free(Shared *shared)
{
    Load *load = (Load *)shared;

    block_stats_unref(load->stats);
    block_loop_unref(load->loop);
    g_free(load);
}

/* What is shown of one moment. */
typedef struct Moment {
    Shared base;
    BlockSums sums;
    guint64 latency[3];
    State state;
} Moment;

static const guint latency_per_mille[] = {500, 990, 999};

static void moment_free(Shared *shared)
{
    g_free(shared);
}

static Shared *load_moment(const Shared *shared)
{
    const Load *load = (const Load *)shared;
    Moment *moment = g_new0(Moment, 1);

    g_atomic_ref_count_init(&moment->base.refs);
    moment->base.free = moment_free;
    moment->state = (State)g_atomic_int_get(&load->state);
    moment->sums = block_stats_sums(load->stats);
    for (guint i = 0; i < G_N_ELEMENTS(latency_per_mille); i++)
        moment->latency[i] = io_latency_percentile(&load->latency, latency_per_mille[i]);
    return &moment->base;
}

static void io_load_init(Object *object)
{
    static const BlockStatsOptions options = {.account_failed = TRUE};
    IoLoad *self = (IoLoad *)object;
    Load *load = g_new0(Load, 1);

    g_atomic_ref_count_init(&load->base.refs);
    load->base.free = load_free;
    load->base.moment = load_moment;
    load->stats = block_stats_new(&options);
    self->load = load;
    object_set_shared(object, &load->base);
    shared_unref(&load->base); /* the object keeps it */
}

static gboolean G_GNUC_PRINTF(2, 3) fail(GError **error, const char *format, ...)
{
    va_list args;
    g_autofree char *message = NULL;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error_literal(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, message);
    return FALSE;
}

static gboolean check(const IoLoad *self, GError **error)
{
    if (!*self->disk)
        return fail(error, "Parameter 'disk' is missing");
    if (self->block_size % SECTOR_SIZE)
        return fail(error, "Parameter 'block-size' expects a multiple of %d", SECTOR_SIZE);
    if (self->limit % self->block_size)
        return fail(error, "Parameter 'limit' expects a multiple of block-size (%" G_GUINT64_FORMAT ")",
                    self->block_size);
    if (self->block_size * self->queue_depth > MAX_BUFFERS)
        return fail(error, "block-size (%" G_GUINT64_FORMAT ") * queue-depth (%u) is more than %d bytes",
                    self->block_size, self->queue_depth, MAX_BUFFERS);
    return TRUE;
}

/* Without direct a guest's cache stands between, which gathers blocks that follow each other. */
static guint64 request_size(const IoLoad *self)
{
    gboolean sequential = self->pattern == PATTERN_READ || self->pattern == PATTERN_WRITE;

    if (self->direct || !sequential || self->block_size >= GATHERED_SIZE)
        return self->block_size;
    return GATHERED_SIZE / self->block_size * self->block_size;
}

static gboolean make_slots(Load *load, GError **error)
{
    gsize size = (load->request_size + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;

    if (posix_memalign(&load->buffers, BUFFER_ALIGNMENT, size * load->n_slots) != 0) {
        load->buffers = NULL;
        return fail(error, "no memory for %u requests of %" G_GUINT64_FORMAT " bytes", load->n_slots,
                    load->request_size);
    }
    memset(load->buffers, FILLER, size * load->n_slots);
    load->slots = g_new0(Slot, load->n_slots);
    for (guint i = 0; i < load->n_slots; i++) {
        load->slots[i].load = load;
        load->slots[i].request.buffer = (char *)load->buffers + i * size;
    }
    return TRUE;
}

static gboolean io_load_complete(Object *object, GError **error)
{
    IoLoad *self = (IoLoad *)object;
    Load *load = self->load;
    BlockDisk *disk;

    if (!check(self, error))
        return FALSE;
    disk = block_disk_of(vm_of(object), self->disk);
    if (!disk)
        return fail(error, "Device '%s' not found, or it is not a disk", self->disk);
    load->pattern = (Pattern)self->pattern;
    load->request_size = request_size(self);
    load->limit = self->limit;
    load->fsync = self->fsync;
    load->rate = self->rate;
    load->n_slots = (guint)MAX(MIN(self->queue_depth, MAX_BUFFERS / load->request_size), 1);
    load->random = G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    if (!make_slots(load, error))
        return FALSE;
    if (!block_disk_use(disk)) {
        free(g_steal_pointer(&load->buffers));
        g_clear_pointer(&load->slots, g_free);
        return fail(error, "Device '%s' is in the process of unplug", self->disk);
    }
    load->disk = block_disk_ref(disk);
    load->loop = block_loop_ref(block_disk_loop(disk));
    load->start.done = start_done;
    load->stop.done = stop_done;
    load->timer.done = timer_done;
    g_atomic_int_set(&load->state, block_disk_is_paused(disk) ? STATE_PAUSED : STATE_RUNNING);
    shared_ref(&load->base); /* until it is over */
    block_loop_post(load->loop, &load->start);
    return TRUE;
}

static void io_load_unparent(Object *object)
{
    Load *load = ((IoLoad *)object)->load;

    if (!load->loop)
        return; /* it never began */
    g_atomic_int_set(&load->is_ending, TRUE);
    shared_ref(&load->base);
    block_loop_post(load->loop, &load->stop);
}

static void io_load_too_late(const Object *object G_GNUC_UNUSED, const Property *prop, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "Property '%s' can no longer be set", prop->name);
}

static const Moment *moment_of(const Shared *shared)
{
    return (const Moment *)shared;
}

static void sample_operations(const Shared *shared, const Property *prop G_GNUC_UNUSED, GString *out)
{
    json_append_uint(out, moment_of(shared)->sums.operations);
}

static void sample_bytes(const Shared *shared, const Property *prop G_GNUC_UNUSED, GString *out)
{
    json_append_uint(out, moment_of(shared)->sums.bytes);
}

static void sample_flushes(const Shared *shared, const Property *prop G_GNUC_UNUSED, GString *out)
{
    json_append_uint(out, moment_of(shared)->sums.flushes);
}

static void sample_errors(const Shared *shared, const Property *prop G_GNUC_UNUSED, GString *out)
{
    json_append_uint(out, moment_of(shared)->sums.failed);
}

static void sample_latency(const Shared *shared, const Property *prop, GString *out)
{
    json_append_uint(out, moment_of(shared)->latency[prop->offset]);
}

static void sample_state(const Shared *shared, const Property *prop G_GNUC_UNUSED, GString *out)
{
    json_append_string(out, state_names[moment_of(shared)->state], -1);
}

static const Property io_load_props[] = {
    PROP_FIELD(IoLoad, disk, "disk", .flags = PROP_INITIAL, .initial_text = "",
               .help = "the disk: a device's id, or its path"),
    PROP_ENUM(IoLoad, pattern, "pattern", "IoLoadPattern", pattern_names, .flags = PROP_INITIAL,
              .help = "what is done, and whether one block follows the other"),
    PROP_FIELD(IoLoad, block_size, "block-size", .type = "size", .flags = PROP_INITIAL, .initial = 4096,
               .min = SECTOR_SIZE, .max = MAX_BLOCK_SIZE, .help = "bytes of a block, a multiple of 512"),
    PROP_FIELD(IoLoad, direct, "direct", .flags = PROP_INITIAL, .initial = TRUE,
               .help = "each block is a request; else a guest's cache gathers what follows each other, up to 128 KiB"),
    PROP_FIELD(IoLoad, fsync, "fsync", .flags = PROP_INITIAL,
               .help = "so many writes are followed by a flush; 0: there is none"),
    PROP_FIELD(IoLoad, queue_depth, "queue-depth", .flags = PROP_INITIAL, .initial = 1, .min = 1,
               .max = MAX_QUEUE_DEPTH, .help = "requests under way at once"),
    PROP_FIELD(IoLoad, rate, "rate", .flags = PROP_INITIAL, .help = "requests a second at most; 0: any number"),
    PROP_FIELD(IoLoad, limit, "limit", .type = "size", .flags = PROP_INITIAL,
               .help = "it ends after so many bytes, a multiple of block-size; 0: never"),
    PROP_MOVING("operations", "uint64", sample_operations, .help = "reads or writes done"),
    PROP_MOVING("bytes", "uint64", sample_bytes, .help = "bytes read or written"),
    PROP_MOVING("flushes", "uint64", sample_flushes, .help = "flushes done"),
    PROP_MOVING("errors", "uint64", sample_errors, .help = "reads or writes that failed; it ends with the first"),
    PROP_MOVING("latency-p50", "uint64", sample_latency, .offset = 0, .help = "half took at most so many nanoseconds"),
    PROP_MOVING("latency-p99", "uint64", sample_latency, .offset = 1, .help = "the same of 99 %"),
    PROP_MOVING("latency-p99.9", "uint64", sample_latency, .offset = 2, .help = "the same of 99.9 %"),
    PROP_MOVING("state", "str", sample_state, .help = "running, paused, done, failed, disk-gone"),
    {0},
};

const ObjectType io_load_type = {
    .name = "io-load",
    .help = "load on a disk, as a guest would make it",
    .instance_size = sizeof(IoLoad),
    .user_creatable = TRUE,
    .props = io_load_props,
    .init = io_load_init,
    .complete = io_load_complete,
    .unparent = io_load_unparent,
    .too_late = io_load_too_late,
};
