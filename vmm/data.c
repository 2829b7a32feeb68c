/* SPDX-License-Identifier: MIT */
/* The files of vmm/data as JSON; embed.S has their bytes. */
#include "vmm/data.h"

/* In embed.S: where each file begins and ends. */
extern const char vmm_data_devices[], vmm_data_devices_end[];
extern const char vmm_data_machines[], vmm_data_machines_end[];
extern const char vmm_data_cpu_features[], vmm_data_cpu_features_end[];
extern const char vmm_data_cpu_models[], vmm_data_cpu_models_end[];
extern const char vmm_data_cpu_definitions[], vmm_data_cpu_definitions_end[];
extern const char vmm_data_queries[], vmm_data_queries_end[];
extern const char vmm_data_pci[], vmm_data_pci_end[];

static const struct {
    const char *name, *start, *end;
} files[N_DATA_FILES] = {
    [DATA_DEVICES] = {"devices.json", vmm_data_devices, vmm_data_devices_end},
    [DATA_MACHINES] = {"machines.json", vmm_data_machines, vmm_data_machines_end},
    [DATA_CPU_FEATURES] = {"cpu-features.json", vmm_data_cpu_features, vmm_data_cpu_features_end},
    [DATA_CPU_MODELS] = {"cpu-models.json", vmm_data_cpu_models, vmm_data_cpu_models_end},
    [DATA_CPU_DEFINITIONS] = {"cpu-definitions.json", vmm_data_cpu_definitions, vmm_data_cpu_definitions_end},
    [DATA_QUERIES] = {"queries.json", vmm_data_queries, vmm_data_queries_end},
    [DATA_PCI] = {"pci.json", vmm_data_pci, vmm_data_pci_end},
};

const char *data_name(DataFile file)
{
    return files[file].name;
}

JsonSlice data_json(DataFile file)
{
    static JsonSlice compact[N_DATA_FILES];
    static GMutex lock;

    g_mutex_lock(&lock);
    if (!compact[file].text) {
        g_autoptr(GError) error = NULL;
        gsize length = (gsize)(files[file].end - files[file].start);

        compact[file].text = json_compact(files[file].start, length, JSON_READER_STRICT, &compact[file].length, &error);
        if (!compact[file].text)
            g_error("vmm/data/%s:%s", files[file].name, error->message);
    }
    g_mutex_unlock(&lock);
    return compact[file];
}
