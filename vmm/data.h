/* SPDX-License-Identifier: MIT */
/*
 * The data that the VM model is made from: the files of vmm/data, which stand in the program.
 * Checked and compacted when first asked for, then kept for the process's life; any thread.
 */
#pragma once

#include "objmodel/json.h"

typedef enum DataFile {
    DATA_DEVICES,         /* types of devices that only have properties and parts */
    DATA_MACHINES,        /* what stands on each machine's board */
    DATA_CPU_FEATURES,    /* where each feature's bit is */
    DATA_CPU_MODELS,      /* which features each CPU model has */
    DATA_CPU_DEFINITIONS, /* as query-cpu-definitions returns them */
    DATA_QUERIES,         /* what queries return: see query-data.h */
    DATA_PCI,             /* what PCI devices say of themselves, by type */
    N_DATA_FILES,
} DataFile;

/* All of it: compact JSON. */
JsonSlice data_json(DataFile file);
/* Its name, for messages: "devices.json". */
const char *data_name(DataFile file);
