/* SPDX-License-Identifier: MIT */
/*
 * Writing: a property file's content, as far as it has been written, is handed to the source
 * by the write(2) that makes it a whole value, and that write bears the error; for a shell
 * loses the errors of close(2). A scalar is whole at each write; anything structured is when
 * its brackets close. The request is parked until the change is published and the kernel has
 * been told, so that whoever looks next sees it.
 *
 * Handles that write are direct_io: a buffered WRITE holds a page that the notifier may wait for.
 */
#include "fs/write.h"

#include <errno.h>
#include <string.h>

#include "fs/error-number.h"
#include "fs/last-errors.h"
#include "fs/operations.h"
#include "fs/parking.h"
#include "objmodel/error.h"

/* More than any property holds. */
enum { VALUE_MAX = 16 * 1024 * 1024 };

/* What has been written to an open file. Under the handle's lock. */
struct WriteBuffer {
    GString *text;
    gboolean append; /* offsets are counted from the first one */
    gboolean begun;
    off_t base;
    gboolean open; /* brackets are open */
};

WriteBuffer *write_buffer_new(gboolean append)
{
    WriteBuffer *buffer = g_new0(WriteBuffer, 1);
    buffer->text = g_string_new(NULL);
    buffer->append = append;
    return buffer;
}

void write_buffer_free(WriteBuffer *buffer)
{
    if (!buffer)
        return;
    g_string_free(buffer->text, TRUE);
    g_free(buffer);
}

/* ---- from text to a value ---- */

/* Whether brackets or a string are still open at the end of the text. */
static gboolean text_is_open(const GString *text)
{
    gsize depth = 0;
    gboolean string = FALSE;
    for (gsize i = 0; i < text->len; i++) {
        char c = text->str[i];
        if (string && c == '\\')
            i++;
        else if (c == '"')
            string = !string;
        else if (!string && (c == '{' || c == '['))
            depth++;
        else if (!string && (c == '}' || c == ']') && depth > 0)
            depth--;
    }
    return string || depth > 0;
}

/* The kind of value that a property takes: that of its last value, else what its type says.
 * FALSE: nothing is known. */
static gboolean expected_kind(const Item *item, JsonKind *ret)
{
    JsonSlice value = node_slot_value(item->dir, item->slot);
    const char *type = node_slot_info(item->dir, item->slot)->type;
    if (value.length && json_kind(value) != JSON_NULL)
        *ret = json_kind(value);
    else if (!g_strcmp0(type, "bool"))
        *ret = JSON_BOOL;
    else if (type && (g_str_has_prefix(type, "int") || g_str_has_prefix(type, "uint") || !strcmp(type, "size")))
        *ret = JSON_NUMBER;
    else if (type && g_str_has_prefix(type, "str"))
        *ret = JSON_STRING;
    else
        return FALSE;
    return TRUE;
}

/* The text as a string value, without the newline that a shell puts at its end. */
static char *string_value(const GString *text, GError **error)
{
    gsize length = text->len > 0 && text->str[text->len - 1] == '\n' ? text->len - 1 : text->len;
    if (!g_utf8_validate_len(text->str, length, NULL)) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "the text is not UTF-8, or has a NUL in it");
        return NULL;
    }
    g_autoptr(GString) json = g_string_new(NULL);
    json_append_string(json, text->str, (gssize)length);
    return g_string_free(g_steal_pointer(&json), FALSE);
}

/* The compact JSON of the value that has been written. */
static char *written_value(const Item *item, const GString *text, GError **error)
{
    JsonKind kind = JSON_NULL;
    gboolean known = expected_kind(item, &kind);
    if (known && kind == JSON_STRING)
        return string_value(text, error);
    g_autoptr(GError) problem = NULL;
    gsize length;
    g_autofree char *json = json_compact(text->str, text->len, JSON_READER_STRICT, &length, &problem);
    if (!known)
        return json ? g_steal_pointer(&json) : string_value(text, error);
    JsonSlice value = {json, length};
    if (json && (json_kind(value) == kind || kind == JSON_ARRAY || kind == JSON_OBJECT))
        return g_steal_pointer(&json);
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "'%s' takes %s, not %s%s%s", item->name,
                json_kind_name(kind), json ? json_kind_name(json_kind(value)) : "what was written", json ? "" : ": ",
                json ? "" : problem->message);
    return NULL;
}

/* ---- the request ---- */

/* A write that the source has been given. */
typedef struct Setting {
    Fs *fs;
    guint64 ino;
    size_t size;
} Setting;

static void setting_answer(fuse_req_t req, const GError *error, void *data)
{
    const Setting *setting = data;
    last_errors_set(setting->fs->write_errors, setting->ino, error);
    if (error)
        fuse_reply_err(req, errno_from_error(error));
    else
        fuse_reply_write(req, setting->size);
}

/* What the source and the snapshots are given: they may come when the request is answered. */
typedef struct SettingTicket {
    Parking *parking;
    Snapshots *snapshots;
    guint64 parked;
} SettingTicket;

static void setting_settled(void *opaque)
{
    SettingTicket *ticket = opaque;
    parking_end(ticket->parking, ticket->parked, NULL);
    parking_unref(ticket->parking);
    g_free(ticket);
}

static void setting_done(const GError *error, void *opaque)
{
    SettingTicket *ticket = opaque;
    if (error) {
        parking_end(ticket->parking, ticket->parked, error);
        parking_unref(ticket->parking);
        g_free(ticket);
        return;
    }
    g_autoptr(Snapshot) snapshot = snapshots_current(ticket->snapshots);
    snapshots_when_settled(ticket->snapshots, snapshot->generation, setting_settled, ticket);
}

static void set(Fs *fs, fuse_req_t req, const Handle *handle, const char *value, size_t size)
{
    Setting *setting = g_new(Setting, 1);
    *setting = (Setting){.fs = fs, .ino = handle->base.inode->ino, .size = size};
    g_autofree char *path = inode_path(handle->base.inode->parent);
    SettingTicket *ticket = g_new(SettingTicket, 1);
    ticket->parking = parking_ref(fs->parking);
    ticket->snapshots = fs->snapshots;
    ticket->parked = parking_park(fs, req, setting_answer, setting, g_free);
    fs->source->ops->set(fs->source, path, handle->base.inode->name, (JsonSlice){value, strlen(value)}, setting_done,
                         ticket);
}

/* With the handle's lock held: takes the bytes in. FALSE where they leave a hole or are too many. */
static gboolean write_buffer_add(WriteBuffer *buffer, const char *data, size_t size, off_t offset)
{
    if (!buffer->begun && buffer->append)
        buffer->base = offset;
    buffer->begun = TRUE;
    off_t at = offset - buffer->base;
    if (at < 0 || (gsize)at > buffer->text->len || (gsize)at + size > VALUE_MAX)
        return FALSE;
    g_string_truncate(buffer->text, (gsize)at);
    g_string_append_len(buffer->text, data, (gssize)size);
    return TRUE;
}

/* Replies: write, err (EINVAL; of the source: its error). Parked while the source sets the value. */
void op_write(fuse_req_t req, fuse_ino_t id, const char *data, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)id;
    Fs *fs = fs_of(req);
    Handle *handle = handle_of(fi);
    g_autoptr(GError) error = NULL;
    g_autofree char *value = NULL;
    JsonKind kind;
    gboolean text = expected_kind(&handle->item, &kind) && kind == JSON_STRING;
    g_mutex_lock(&handle->lock);
    WriteBuffer *buffer = handle->writes;
    if (!write_buffer_add(buffer, data, size, offset)) {
        g_set_error(&error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE,
                    "a value is written from its start, and has at most %d bytes", VALUE_MAX);
    } else {
        buffer->open = !text && text_is_open(buffer->text);
        if (!buffer->open)
            value = written_value(&handle->item, buffer->text, &error);
    }
    if (error) /* what was refused is not part of what comes next */
        g_string_truncate(buffer->text, MIN(buffer->text->len, (gsize)MAX(offset - buffer->base, 0)));
    g_mutex_unlock(&handle->lock);
    if (error) {
        last_errors_set(fs->write_errors, handle->base.inode->ino, error);
        fuse_reply_err(req, errno_from_error(error));
    } else if (value) {
        set(fs, req, handle, value, size);
    } else {
        fuse_reply_write(req, size);
    }
}

/* Whether what has been written so far is no value yet; it is then forgotten. */
static gboolean handle_left_open(Fs *fs, Handle *handle)
{
    g_mutex_lock(&handle->lock);
    gboolean open = handle->writes && handle->writes->open;
    if (open) {
        handle->writes->open = FALSE;
        g_string_truncate(handle->writes->text, 0);
    }
    g_mutex_unlock(&handle->lock);
    if (open) {
        g_autoptr(GError) error =
            g_error_new(OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "the value ends before its brackets close");
        last_errors_set(fs->write_errors, handle->base.inode->ino, error);
    }
    return open;
}

/* Replies: err (EINVAL: what was written is no whole value). A shell flushes before its first
 * write, and each time that a command ends: what is empty sets nothing. */
void op_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    (void)id;
    fuse_reply_err(req, handle_left_open(fs_of(req), handle_of(fi)) ? EINVAL : 0);
}

/* Replies: as op_flush(). */
void op_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *fi)
{
    (void)datasync;
    op_flush(req, id, fi);
}
