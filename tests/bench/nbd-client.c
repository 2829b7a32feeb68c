/* SPDX-License-Identifier: MIT */
/* See nbd-client.h. All numbers on the wire are big-endian. */
#include "tests/bench/nbd-client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NBD_MAGIC G_GUINT64_CONSTANT(0x4e42444d41474943) /* "NBDMAGIC" */
#define OPTION_MAGIC G_GUINT64_CONSTANT(0x49484156454f5054)
#define OPTION_REPLY_MAGIC G_GUINT64_CONSTANT(0x3e889045565a9)
#define REQUEST_MAGIC 0x25609513u
#define REPLY_MAGIC 0x67446698u

enum {
    CLIENT_FLAGS = 3, /* fixed newstyle, no zeroes */
    OPTION_GO = 7,
    REPLY_ACK = 1,
    REPLY_INFO = 3,
    INFO_EXPORT = 0,
    COMMAND_READ = 0,
    OPTION_DATA_MAX = 64 << 10,
};

typedef struct __attribute__((packed)) Greeting {
    guint64 magic, option_magic;
    guint16 flags;
} Greeting;

typedef struct __attribute__((packed)) OptionReply {
    guint64 magic;
    guint32 option, type, length;
} OptionReply;

typedef struct __attribute__((packed)) ExportInfo {
    guint16 type;
    guint64 size;
    guint16 flags;
} ExportInfo;

typedef struct __attribute__((packed)) Request {
    guint32 magic;
    guint16 flags, command;
    guint64 handle, offset;
    guint32 length;
} Request;

typedef struct __attribute__((packed)) Reply {
    guint32 magic, error;
    guint64 handle;
} Reply;

static gboolean fail(int code)
{
    errno = code;
    return FALSE;
}

static gboolean receive(int fd, void *buffer, gsize length)
{
    char *at = buffer;

    while (length > 0) {
        ssize_t got = recv(fd, at, length, 0);

        if (got <= 0) {
            return got == 0 ? fail(ECONNRESET) : FALSE;
        }
        at += got;
        length -= (gsize)got;
    }
    return TRUE;
}

static gboolean transmit(int fd, const void *bytes, gsize length)
{
    ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

    return sent == (ssize_t)length ? TRUE : sent < 0 ? FALSE : fail(EPROTO);
}

static gboolean send_go(int fd, const char *export)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    guint32 name_length = (guint32)strlen(export);
    struct __attribute__((packed)) {
        guint32 client_flags;
        guint64 magic;
        guint32 option, length, name_length;
    } head = {
        GUINT32_TO_BE(CLIENT_FLAGS),    GUINT64_TO_BE(OPTION_MAGIC), GUINT32_TO_BE(OPTION_GO),
        GUINT32_TO_BE(name_length + 6), GUINT32_TO_BE(name_length),
    };
    static const guint16 no_requests = 0;

    g_byte_array_append(out, (const guint8 *)&head, sizeof head);
    g_byte_array_append(out, (const guint8 *)export, name_length);
    g_byte_array_append(out, (const guint8 *)&no_requests, sizeof no_requests);
    return transmit(fd, out->data, out->len);
}

static gboolean negotiate(NbdClient *client, const char *export)
{
    Greeting greeting;
    OptionReply reply;

    if (!receive(client->fd, &greeting, sizeof greeting)) {
        return FALSE;
    }
    if (GUINT64_FROM_BE(greeting.magic) != NBD_MAGIC || GUINT64_FROM_BE(greeting.option_magic) != OPTION_MAGIC) {
        return fail(EPROTO);
    }
    if (!send_go(client->fd, export)) {
        return FALSE;
    }
    do {
        guint8 data[OPTION_DATA_MAX];
        ExportInfo info;
        guint32 length;

        if (!receive(client->fd, &reply, sizeof reply)) {
            return FALSE;
        }
        length = GUINT32_FROM_BE(reply.length);
        reply.type = GUINT32_FROM_BE(reply.type);
        if (GUINT64_FROM_BE(reply.magic) != OPTION_REPLY_MAGIC || length > sizeof data ||
            (reply.type != REPLY_ACK && reply.type != REPLY_INFO)) {
            return fail(EPROTO);
        }
        if (!receive(client->fd, data, length)) {
            return FALSE;
        }
        if (reply.type == REPLY_INFO && length >= sizeof info) {
            memcpy(&info, data, sizeof info);
            if (GUINT16_FROM_BE(info.type) == INFO_EXPORT) {
                client->size = GUINT64_FROM_BE(info.size);
            }
        }
    } while (reply.type != REPLY_ACK);
    return client->size > 0 ? TRUE : fail(EPROTO);
}

gboolean nbd_client_open(NbdClient *client, const char *socket_path, const char *export)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *client = (NbdClient){.fd = -1};
    if (strlen(socket_path) >= sizeof address.sun_path) {
        return fail(ENAMETOOLONG);
    }
    g_strlcpy(address.sun_path, socket_path, sizeof address.sun_path);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0 || connect(client->fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        !negotiate(client, export)) {
        int code = errno;

        nbd_client_close(client);
        return fail(code);
    }
    return TRUE;
}

void nbd_client_close(NbdClient *client)
{
    if (client->fd >= 0) {
        close(client->fd);
    }
    client->fd = -1;
}

gboolean nbd_client_read(NbdClient *client, guint64 offset, void *buffer, guint32 length)
{
    Request request = {
        .magic = GUINT32_TO_BE(REQUEST_MAGIC),
        .command = GUINT16_TO_BE(COMMAND_READ),
        .handle = GUINT64_TO_BE(++client->handle),
        .offset = GUINT64_TO_BE(offset),
        .length = GUINT32_TO_BE(length),
    };
    Reply reply;

    if (!transmit(client->fd, &request, sizeof request) || !receive(client->fd, &reply, sizeof reply)) {
        return FALSE;
    }
    if (reply.magic != GUINT32_TO_BE(REPLY_MAGIC) || reply.handle != request.handle) {
        return fail(EPROTO);
    }
    if (reply.error != 0) {
        return fail(EIO);
    }
    return receive(client->fd, buffer, length);
}
