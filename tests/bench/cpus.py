# SPDX-License-Identifier: MIT
"""Experiment 2: query-cpu-definitions. Time, and how often memory is allocated, by thread."""

import shutil
import struct

from lab import Qmp
from results import Section, median, way_row

COMMAND = "query-cpu-definitions"
SLOTS, SLOT = 1024, 24  # of malloc-count.h
CALLS = 5

OF_2020 = ("in 2020, inside the function, before and after features became properties of the class: 204 ms and 180,000 "
           "allocations (12 MiB); 16 ms and 40,000 (9 MiB)")


class Allocations:
    """What malloc-count.so counts in one process."""

    def __init__(self, lab):
        self.path = lab.file("count", "\0" * (SLOTS * SLOT))
        library = lab.new_path("malloc-count") + ".so"
        shutil.copy(lab.tool("malloc-count.so"), library)  # where systems of their own see it
        # Small pieces go through malloc() as well, in all versions of GLib.
        self.env = {"LD_PRELOAD": library, "MALLOC_COUNT": self.path, "G_SLICE": "always-malloc"}

    def by_thread(self):
        """(calls, bytes) by thread id."""
        counts = {}
        with open(self.path, "rb") as file:
            for tid, calls, size in struct.iter_unpack("=QQQ", file.read()):
                if tid:
                    before = counts.get(tid, (0, 0))
                    counts[tid] = (before[0] + calls, before[1] + size)
        return counts


def count_allocations(server, allocations, command):
    """Those of one call, by the thread's name: medians of some."""
    names, seen = server.threads(), []
    with Qmp(server.socket) as qmp:
        qmp.call(command)  # whatever is made once
        for _ in range(CALLS):
            before = allocations.by_thread()
            qmp.call(command)
            after = allocations.by_thread()
            call = {}
            for tid, (calls, size) in after.items():
                earlier = before.get(tid, (0, 0))
                if calls > earlier[0]:
                    name = names.get(tid, str(tid))
                    have = call.get(name, (0, 0))
                    call[name] = (have[0] + calls - earlier[0], have[1] + size - earlier[1])
            seen.append(call)
    all_names = sorted({name for call in seen for name in call})
    return {name: {"calls": int(median([call.get(name, (0, 0))[0] for call in seen])),
                   "bytes": int(median([call.get(name, (0, 0))[1] for call in seen]))} for name in all_names}


def measure(lab, qemus, quick):
    ours = lab.qomfs({})
    with Qmp(ours.socket) as qmp:
        models = {ours.name: len(qmp.call(COMMAND))}
    others = [lab.qemu(qemu) for qemu in qemus]
    for server in others:
        with Qmp(server.socket) as qmp:
            models[server.name] = len(qmp.call(COMMAND))
    ways = [server.way(COMMAND, "call", COMMAND) for server in [ours, *others]]
    definitions = ours.path("cpu-definitions", ".tree.json")
    with open(definitions, encoding="ascii") as file:
        bare = lab.bare_qmp(file.read())
    ways += [ours.way("cpu-definitions/.tree.json", "read", definitions),
             bare.way("the same bytes as a reply", "call", "any")]
    rows = lab.measure("ways-bench", f"--seconds={10 if quick else 40}", "--rounds=200", *ways)
    lab.end(ours, bare, *others)
    section = Section(
        "CPU definitions: query-cpu-definitions (" + ", ".join(f"{name}: {count} models" for name, count in models.items()) + ")",
        "QEMU finds out what each model is by making one and looking whether the host has its features; ours are data. In QEMU "
        "the main loop (the thread qemu-system-x86) does it, in ours none does: compare its CPU time with our whole server's",
        [way_row(row) for row in rows], (COMMAND, qemus[-1].name) if qemus else None, notes=[OF_2020])

    for qemu in [None, *qemus]:
        allocations = Allocations(lab)
        server = lab.qemu(qemu, env=allocations.env) if qemu else lab.qomfs({}, env=allocations.env)
        counts = count_allocations(server, allocations, COMMAND)
        lab.end(server)
        total = {key: sum(count[key] for count in counts.values()) for key in ("calls", "bytes")}
        parts = ", ".join(f"{name} {count['calls']}" for name, count in counts.items())
        section.rows.append({"name": "allocations", "server": server.name, "threads": counts, **total,
                             "text": f"{server.name}: {total['calls']} allocations, {total['bytes']} bytes ({parts})"})
    return section
