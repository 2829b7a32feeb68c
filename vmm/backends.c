/* SPDX-License-Identifier: MIT */
/* Small backends: sources of randomness, secrets. The main loop. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "vmm/types.h"

/* ---- randomness ---- */

typedef struct RngBackend {
    Object base;
    bool opened;
    char *filename;
} RngBackend;

static const Property rng_backend_props[] = {
    PROP_FIELD(RngBackend, opened, "opened", .help = "whether it can be read from"),
    {0},
};

static gboolean rng_complete(Object *object, GError **error G_GNUC_UNUSED)
{
    ((RngBackend *)object)->opened = true;
    object_changed(object);
    return TRUE;
}

static const ObjectType rng_backend_type = {
    .name = "rng-backend",
    .help = "a source of randomness",
    .instance_size = sizeof(RngBackend),
    .abstract = TRUE,
    .props = rng_backend_props,
    .complete = rng_complete,
};

static gboolean rng_random_complete(Object *object, GError **error)
{
    const char *filename = ((RngBackend *)object)->filename;
    int fd = open(filename, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "Could not open '%s': %s", filename,
                    g_strerror(errno));
        return FALSE;
    }
    close(fd);
    return rng_complete(object, error);
}

static void rng_too_late(const Object *object G_GNUC_UNUSED, const Property *prop, GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_READ_ONLY, "Property '%s' can no longer be set", prop->name);
}

static const Property rng_random_props[] = {
    PROP_FIELD(RngBackend, filename, "filename", .flags = PROP_INITIAL, .initial_text = "/dev/urandom",
               .help = "the device that it reads"),
    {0},
};

const ObjectType rng_random_type = {
    .name = "rng-random",
    .help = "randomness from a device of the host",
    .parent = &rng_backend_type,
    .user_creatable = TRUE,
    .props = rng_random_props,
    .complete = rng_random_complete,
    .too_late = rng_too_late,
};

const ObjectType rng_builtin_type = {
    .name = "rng-builtin",
    .help = "randomness from the process itself",
    .parent = &rng_backend_type,
    .user_creatable = TRUE,
};

/* ---- secrets ---- */

typedef struct Secret {
    Object base;
    char *iv, *keyid, *file, *data;
    int format;
} Secret;

enum { FORMAT_RAW, FORMAT_BASE64 };
static const char *const secret_formats[] = {"raw", "base64", NULL};

static const Property secret_common_props[] = {
    PROP_FIELD(Secret, iv, "iv", .flags = PROP_INITIAL, .help = "the vector that the data was encrypted with"),
    PROP_FIELD(Secret, keyid, "keyid", .flags = PROP_INITIAL, .help = "the secret that the data was encrypted with"),
    PROP_ENUM(Secret, format, "format", "QCryptoSecretFormat", secret_formats, .flags = PROP_INITIAL,
              .help = "how the data is written"),
    {0},
};

static const ObjectType secret_common_type = {
    .name = "secret_common",
    .help = "something that is not to be shown",
    .instance_size = sizeof(Secret),
    .abstract = TRUE,
    .props = secret_common_props,
};

static const Property secret_props[] = {
    PROP_FIELD(Secret, file, "file", .flags = PROP_INITIAL, .help = "the file that holds the data"),
    PROP_FIELD(Secret, data, "data", .flags = PROP_INITIAL | PROP_SECRET, .help = "the secret itself"),
    {0},
};

/* Alphabet and padding; what the standard decoder lets pass. */
static gboolean is_base64(const char *text)
{
    gsize length = strlen(text), padding = 0;
    for (gsize i = 0; i < length; i++) {
        if (text[i] == '=')
            padding++;
        else if (padding || !(g_ascii_isalnum(text[i]) || text[i] == '+' || text[i] == '/'))
            return FALSE;
    }
    return length % 4 == 0 && padding <= 2;
}

static gboolean secret_complete(Object *object, GError **error)
{
    const Secret *secret = (Secret *)object;
    gboolean has_data = secret->data != NULL, has_file = secret->file && *secret->file;

    if (has_data && has_file)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "'file' and 'data' are mutually exclusive");
    else if (!has_data && !has_file)
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Either 'file' or 'data' must be provided");
    else if (has_data && secret->format == FORMAT_BASE64 && !is_base64(secret->data))
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "Base64 data contains invalid characters");
    else
        return TRUE;
    return FALSE;
}

const ObjectType secret_type = {
    .name = "secret",
    .help = "a password or key",
    .parent = &secret_common_type,
    .user_creatable = TRUE,
    .props = secret_props,
    .complete = secret_complete,
};
