/* SPDX-License-Identifier: MIT */
/* The one table from errors of the object model to errno. */
#include "fs/error-number.h"

#include <errno.h>

#include "objmodel/error.h"
#include "objmodel/json.h"

static const int errnos[] = {
    [OBJMODEL_ERROR_FAILED] = EINVAL,       [OBJMODEL_ERROR_NOT_FOUND] = ENOENT, [OBJMODEL_ERROR_AMBIGUOUS] = EINVAL,
    [OBJMODEL_ERROR_NO_PROPERTY] = ENOENT,  [OBJMODEL_ERROR_READ_ONLY] = EACCES, [OBJMODEL_ERROR_BAD_VALUE] = EINVAL,
    [OBJMODEL_ERROR_UNREADABLE] = EIO,      [OBJMODEL_ERROR_SECRET] = EACCES,    [OBJMODEL_ERROR_GONE] = ENODEV,
    [OBJMODEL_ERROR_TIMED_OUT] = ETIMEDOUT, [OBJMODEL_ERROR_UNAVAILABLE] = EIO,  [OBJMODEL_ERROR_EXISTS] = EEXIST,
    [OBJMODEL_ERROR_IN_USE] = EBUSY,
};

int errno_from_error(const GError *error)
{
    if (error->domain == OBJMODEL_ERROR && (guint)error->code < G_N_ELEMENTS(errnos))
        return errnos[error->code];
    if (error->domain == G_FILE_ERROR && error->code == G_FILE_ERROR_INTR)
        return EINTR;
    return error->domain == JSON_ERROR ? EINVAL : EIO;
}
