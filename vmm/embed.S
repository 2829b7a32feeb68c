/* SPDX-License-Identifier: MIT */
/* The bytes of the files in vmm/data; found in the include directories that meson.build gives; see data.c. */
        .section .rodata
        .macro embed name, file
        .global vmm_data_\name, vmm_data_\name\()_end
vmm_data_\name:
        .incbin "\file"
vmm_data_\name\()_end:
        .byte 0
        .endm

        embed devices, devices.json
        embed machines, machines.json
        embed cpu_features, cpu-features.json
        embed cpu_models, cpu-models.json
        embed cpu_definitions, cpu-definitions.json
        embed queries, queries.json
        embed pci, pci.json

        .section .note.GNU-stack, "", %progbits
