/* SPDX-License-Identifier: MIT */
/*
 * The session: sets up what the operations share, mounts, serves, and takes all down again in
 * an order in which nobody waits for somebody who is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fs/inode.h"
#include "fs/notify.h"
#include "fs/operations.h"
#include "fs/parking.h"
#include "fs/pollers.h"
#include "fs/retries.h"
#include "fs/last-errors.h"

/* Workers: enough for clients that read side by side; none of them ever waits. */
enum { WORKERS_MAX = 10, WORKERS_IDLE_MAX = 10 };

/* Bytes up to which memory is kept for the next use. */
enum { MEMORY_KEPT = 4 * 1024 * 1024 };

/* ---- what the mount refuses: nothing in it can be made, removed or renamed ---- */

/* Replies: err (EPERM). */
static void op_refuse_name(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    (void)parent;
    (void)name;
    fuse_reply_err(req, EPERM);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
    (void)mode;
    (void)device;
    op_refuse_name(req, parent, name);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    (void)mode;
    op_refuse_name(req, parent, name);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    (void)target;
    op_refuse_name(req, parent, name);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
                      unsigned int flags)
{
    (void)new_parent;
    (void)new_name;
    (void)flags;
    op_refuse_name(req, parent, name);
}

static void op_link(fuse_req_t req, fuse_ino_t id, fuse_ino_t new_parent, const char *new_name)
{
    (void)id;
    op_refuse_name(req, new_parent, new_name);
}

/* Runs when the kernel has said what it can, as the first request that the workers serve: any
 * other one waits until it is answered. We never make one ourselves, for a process that waits for
 * its own mount cannot be killed. */
static void op_init(void *userdata, struct fuse_conn_info *connection)
{
    const Fs *fs = userdata;
    /* ATOMIC_O_TRUNC: the kernel would take a file for empty as soon as a writer opens it, and so would
     * whoever reads it just then. */
    connection->want &= ~(unsigned)(FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_SPLICE_READ |
                                    FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
    connection->want |= connection->capable & FUSE_CAP_CACHE_SYMLINKS;
    connection->time_gran = 1;
    if (fs->options->ready)
        fs->options->ready(fs->options->ready_data);
}

static const struct fuse_lowlevel_ops operations = {
    .init = op_init,
    .lookup = op_lookup,
    .forget = op_forget,
    .forget_multi = op_forget_multi,
    .getattr = op_getattr,
    .setattr = op_setattr,
    .readlink = op_readlink,
    .statfs = op_statfs,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .readdirplus = op_readdirplus,
    .releasedir = op_releasedir,
    .open = op_open,
    .read = op_read,
    .release = op_release,
    .poll = op_poll,
    .write = op_write,
    .flush = op_flush,
    .fsync = op_fsync,
    .getxattr = op_getxattr,
    .listxattr = op_listxattr,
    .mknod = op_mknod,
    .mkdir = op_mkdir,
    .unlink = op_refuse_name,
    .rmdir = op_refuse_name,
    .symlink = op_symlink,
    .rename = op_rename,
    .link = op_link,
};

/* ---- the end ---- */

/* fuse_session_exit() sets a flag, which the thread in fuse_session_loop_mt() looks at when a
 * signal interrupts it. One that comes between its look and its sleep would be lost: so a
 * thread of its own takes the signals, and nudges that one until it has noticed. */
static struct Ending {
    struct fuse_session *session;
    pthread_t loop;   /* to be nudged */
    pthread_t waiter; /* takes the signals */
    gint over;        /* atomic: the loop has ended */
    gint asked;       /* atomic: fs_stop() was called; perhaps before there was a mount */
    GMutex lock;      /* for the next */
    gboolean waiting; /* there is a waiter */
} ending;

enum { NUDGE = SIGUSR2, NUDGE_MS = 20 };

static void ending_nudged(int number)
{
    (void)number;
}

static sigset_t ending_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

static void *ending_thread(void *data)
{
    (void)data;
    sigset_t signals = ending_signals();
    int number;
    sigwait(&signals, &number);
    fuse_session_exit(ending.session);
    while (!g_atomic_int_get(&ending.over)) {
        pthread_kill(ending.loop, NUDGE);
        g_usleep(NUDGE_MS * 1000);
    }
    return NULL;
}

static void ending_begin(struct fuse_session *session)
{
    struct sigaction action = {.sa_handler = ending_nudged};
    sigaction(NUDGE, &action, NULL);
    ending.session = session;
    ending.loop = pthread_self();
    g_atomic_int_set(&ending.over, FALSE);
    pthread_create(&ending.waiter, NULL, ending_thread, NULL);
    g_mutex_lock(&ending.lock);
    ending.waiting = TRUE;
    g_mutex_unlock(&ending.lock);
    if (g_atomic_int_get(&ending.asked))
        pthread_kill(ending.waiter, SIGTERM);
}

static void ending_end(void)
{
    g_atomic_int_set(&ending.over, TRUE);
    g_mutex_lock(&ending.lock);
    ending.waiting = FALSE;
    g_mutex_unlock(&ending.lock);
    pthread_kill(ending.waiter, SIGTERM); /* where nobody has asked to end, the mount was taken away */
    pthread_join(ending.waiter, NULL);
    g_atomic_int_set(&ending.asked, FALSE);
}

void fs_stop(void)
{
    g_atomic_int_set(&ending.asked, TRUE);
    g_mutex_lock(&ending.lock);
    if (ending.waiting)
        pthread_kill(ending.waiter, SIGTERM);
    g_mutex_unlock(&ending.lock);
}

/* ---- mounting ---- */

static struct fuse_session *session_new(Fs *fs)
{
    const FsOptions *options = fs->options;
    g_autoptr(GString) mount = g_string_new("default_permissions,subtype=qomfs,fsname=");
    /* A comma would begin another option. */
    for (const char *c = options->fsname; *c; c++) {
        if (*c == ',' || *c == '\\')
            g_string_append_c(mount, '\\');
        g_string_append_c(mount, *c);
    }
    if (options->allow_other)
        g_string_append(mount, ",allow_other");
    if (options->read_only)
        g_string_append(mount, ",ro");
    if (options->kernel_options && *options->kernel_options)
        g_string_append_printf(mount, ",%s", options->kernel_options);
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    fuse_opt_add_arg(&args, "qomfs");
    fuse_opt_add_arg(&args, "-o");
    fuse_opt_add_arg(&args, mount->str);
    if (options->debug)
        fuse_opt_add_arg(&args, "-d");
    struct fuse_session *session = fuse_session_new(&args, &operations, sizeof(operations), fs);
    fuse_opt_free_args(&args);
    return session;
}

/* What libfuse says on stderr, as the reason in our own message. One session, one thread. */
static char *libfuse_said;

static void G_GNUC_PRINTF(2, 0) libfuse_log(enum fuse_log_level level, const char *format, va_list args)
{
    g_autofree char *text = g_strdup_vprintf(format, args);
    if (level <= FUSE_LOG_WARNING && !libfuse_said)
        libfuse_said = g_strstrip(g_strdup(text));
    else if (level > FUSE_LOG_WARNING)
        g_printerr("%s", text);
}

/* Of a plain user it is fusermount3 that mounts, and that says why it does not, on our stderr: caught
 * here. Returns what was said in one line, or NULL. */
static char *mount_quietly(struct fuse_session *session, const char *mount_point, int *ret_result)
{
    int caught = memfd_create("fusermount3", MFD_CLOEXEC), before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (caught >= 0 && before >= 0)
        dup2(caught, STDERR_FILENO);
    *ret_result = fuse_session_mount(session, mount_point);
    if (caught >= 0 && before >= 0)
        dup2(before, STDERR_FILENO);
    char said[1024];
    ssize_t length = caught >= 0 ? pread(caught, said, sizeof(said), 0) : 0;
    close(before);
    close(caught);
    if (length <= 0)
        return NULL;
    g_autofree char *text = g_strndup(said, (gsize)length);
    const char *prefix = "fusermount3: ";
    return g_strdup(g_strdelimit(g_strstrip(g_str_has_prefix(text, prefix) ? text + strlen(prefix) : text), "\n", ' '));
}

static gboolean session_mount(struct fuse_session *session, const FsOptions *options, GError **error)
{
    g_autofree char *helper = NULL;
    int result = -1;
    errno = 0;
    if (session && options->debug)
        result = fuse_session_mount(session, options->mount_point);
    else if (session)
        helper = mount_quietly(session, options->mount_point, &result);
    if (result == 0)
        return TRUE;
    const char *reason = helper         ? helper
                         : libfuse_said ? libfuse_said
                         : errno        ? g_strerror(errno)
                                        : "libfuse gave no reason";
    if (g_str_has_prefix(reason, "fuse: "))
        reason += strlen("fuse: ");
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot mount on '%s': %s", options->mount_point, reason);
    return FALSE;
}

/* ---- serving ---- */

static gboolean serve(Fs *fs, GError **error)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, WORKERS_MAX);
    fuse_loop_cfg_set_idle_threads(config, WORKERS_IDLE_MAX);
    fuse_loop_cfg_set_clone_fd(config, 0);
    int result = fuse_session_loop_mt(fs->session, config);
    fuse_loop_cfg_destroy(config);
    if (result >= 0) /* a signal's number, or 0 */
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "serving '%s' failed: %s", fs->options->mount_point,
                g_strerror(-result));
    return FALSE;
}

/* A notification may wait in the kernel for a request that no worker takes any more: so requests
 * are served here until the notifier is through. */
static void serve_the_rest(Fs *fs)
{
    struct fuse_buf buffer = {0};
    notifier_stop(fs->notifier);
    fuse_session_reset(fs->session);
    while (!notifier_stopped(fs->notifier)) {
        struct pollfd device = {.fd = fuse_session_fd(fs->session), .events = POLLIN};
        if (poll(&device, 1, 10) <= 0)
            continue;
        int result = fuse_session_receive_buf(fs->session, &buffer);
        if (result > 0)
            fuse_session_process_buf(fs->session, &buffer);
        else if (result != -EINTR && result != -EAGAIN)
            break; /* the mount is gone; nobody waits for it any more */
    }
    free(buffer.mem);
}

/* What a read of a subtree needs is the same again and again: memory that has been used for it is
 * kept, for to give it back and get it anew costs more than the rendering. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, MEMORY_KEPT);
    mallopt(M_TRIM_THRESHOLD, 2 * MEMORY_KEPT);
}

/* From a mounted session to one that may be unmounted. */
static gboolean session_run(Fs *fs, GError **error)
{
    ending_begin(fs->session);
    fs->notifier = notifier_new(fs);
    gboolean ok = serve(fs, error);
    ending_end();
    serve_the_rest(fs);
    /* Replies to what is parked need the session; what the source says later finds nothing. */
    parking_close(fs->parking);
    pollers_close(fs->pollers);
    notifier_free(fs->notifier);
    return ok;
}

gboolean fs_run(Source *source, const FsOptions *options, GError **error)
{
    sigset_t signals = ending_signals(), before;
    keep_memory();
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    g_autoptr(Snapshot) snapshot = snapshots_current(source->snapshots);
    Fs fs = {.source = source,
             .snapshots = source->snapshots,
             .options = options,
             .inodes = inode_table_new(snapshot->root->id),
             .parking = parking_new(),
             .retries = retries_new(),
             .write_errors = last_errors_new(),
             .fetch_errors = last_errors_new(),
             .pollers = pollers_new(options->events)};
    if (!options->debug)
        fuse_set_log_func(libfuse_log);
    fs.session = session_new(&fs);
    gboolean ok = session_mount(fs.session, options, error);
    if (ok) {
        ok = session_run(&fs, error);
        fuse_session_unmount(fs.session);
    } else {
        parking_close(fs.parking);
        pollers_close(fs.pollers);
    }
    if (fs.session)
        fuse_session_destroy(fs.session);
    inode_free_handles(&fs);
    parking_unref(fs.parking);
    inode_table_free(fs.inodes);
    retries_free(fs.retries);
    last_errors_free(fs.write_errors);
    last_errors_free(fs.fetch_errors);
    pollers_free(fs.pollers);
    g_clear_pointer(&libfuse_said, g_free);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}
