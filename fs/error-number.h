/* SPDX-License-Identifier: MIT */
/* The one table from errors of the object model to errno. */
#pragma once

#include <glib.h>

int errno_from_error(const GError *error);
