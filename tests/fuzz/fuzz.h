/* SPDX-License-Identifier: MIT */
/*
 * What all fuzzers have in common. Each is a function that libFuzzer calls with bytes of its making (meson
 * setup with -Dfuzz=true and clang); in other builds replay.c calls it with the files of corpus/NAME, as a test.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
