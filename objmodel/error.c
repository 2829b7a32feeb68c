/* SPDX-License-Identifier: MIT */
/* The quark behind OBJMODEL_ERROR. Any thread. */
#include "objmodel/error.h"

G_DEFINE_QUARK(objmodel_error, objmodel_error)
