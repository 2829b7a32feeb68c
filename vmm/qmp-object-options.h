/* SPDX-License-Identifier: MIT */
/* What object-add takes, for the schema. */
#pragma once

#include "objmodel/type.h"
#include "qmp/schema.h"

/* Made of these types, which must outlive it; its memory is added to `memory`, to be freed with g_free. */
const QmpType *qmp_object_options(const Types *types, GPtrArray *memory);
