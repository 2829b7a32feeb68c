/* SPDX-License-Identifier: MIT */
/* Load on a disk, as a guest's dd would make it: an object that object-add makes. */
#pragma once

#include "objmodel/type.h"

extern const ObjectType io_load_type;
