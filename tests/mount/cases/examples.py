#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 180
"""Every configuration in examples/ mounts, and shows what its file says."""

import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, check, equal, main, read_file, test, tests_for

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples")
CONFIGS = sorted(map(os.path.basename, glob.glob(os.path.join(EXAMPLES, "vm-*.json"))))


@test("the examples are there")
def are_there():
    for name in ("small", "q35-rich", "500-disks", "64-cpus", "faults"):
        check(f"vm-{name}.json" in CONFIGS, f"vm-{name}.json is not")


@tests_for(CONFIGS, "{} mounts")
def mounts(name):
    path = os.path.join(EXAMPLES, name)
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    with Mount(path) as mount:
        equal(read_file(f"{mount.path}/vm/name").decode(), config["name"] + "\n", "the name")
        equal(read_file(f"{mount.path}/vm/status").decode(), "prelaunch\n" if config.get("paused") else "running\n",
              "the status")
        ids = [thing["id"] for key in ("disks", "nics", "devices") for thing in config.get(key, []) if "id" in thing]
        check(set(ids) <= set(os.listdir(f"{mount.path}/qom/machine/peripheral")), "a device is missing")
        if "disks" in config and config["disks"]:
            equal(set(os.listdir(f"{mount.path}/blockstats")) - {".tree.json"}, {disk["id"] for disk in config["disks"]},
                  "the disks")
        count = config.get("cpus", {}).get("count", 4)
        tree = json.loads(read_file(f"{mount.path}/qom/machine/.tree.json"))
        smp = next(prop["value"] for prop in tree["properties"] if prop["name"] == "smp")
        equal(smp["cpus"], count, "the CPUs")
        for thing in config.get("objects", []) + config.get("faults", []):
            check(os.path.isdir(f"{mount.path}/qom/objects/{thing['id']}"), f"no object {thing['id']}")


main()
