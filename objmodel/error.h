/* SPDX-License-Identifier: MIT */
/*
 * The errors of the object model. Each maps to an errno in fs/error-number.c and to a
 * QMP error class in qmp/message.c, and nowhere else.
 */
#pragma once

#include <glib.h>

#define OBJMODEL_ERROR (objmodel_error_quark())
GQuark objmodel_error_quark(void);

typedef enum ObjmodelError {
    OBJMODEL_ERROR_FAILED,      /* none of the below */
    OBJMODEL_ERROR_NOT_FOUND,   /* no such object */
    OBJMODEL_ERROR_AMBIGUOUS,   /* a partial path that matches more than once */
    OBJMODEL_ERROR_NO_PROPERTY, /* the object has no such property */
    OBJMODEL_ERROR_READ_ONLY,   /* the property, or everything, cannot be written */
    OBJMODEL_ERROR_BAD_VALUE,   /* wrong kind, out of range, not JSON */
    OBJMODEL_ERROR_UNREADABLE,  /* the value cannot be read; the message says why */
    OBJMODEL_ERROR_SECRET,      /* the value is a secret */
    OBJMODEL_ERROR_GONE,        /* the object was there and no longer is */
    OBJMODEL_ERROR_TIMED_OUT,   /* the source did not answer in time */
    OBJMODEL_ERROR_UNAVAILABLE, /* the source is not connected */
    OBJMODEL_ERROR_EXISTS,      /* the name or id is taken */
    OBJMODEL_ERROR_IN_USE,      /* the object cannot be removed now */
} ObjmodelError;
