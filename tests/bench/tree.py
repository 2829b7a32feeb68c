# SPDX-License-Identifier: MIT
"""Experiment 1: the object tree, by every way to read it, from the same client."""

import json
from pathlib import Path

from lab import SOURCE, Qmp
from results import Section, median, time_text, way_row

RECORDED = SOURCE / "tests" / "data" / "qemu-11.1-pc.tree.json"
METHODS = (("get", "property by property"), ("list-get", "qom-list-get per object"),
           ("list-getv", "qom-list-getv per level"), ("tree-get", "qom-tree-get"))

# CPUs of the built-in VM that make about so many properties: 562 a CPU on top of 2,404.
MODELS = ((14, "10,000"), (174, "100,000"), (1776, "1,000,000"))
# Beyond these QEMU takes minutes to be asked property by property, or cannot have so many CPUs.
QEMU_CPUS_MAX = 200
PLOT_CPUS = (1, 4, 16, 64, 128, 174)

# How the change to QEMU was presented: time(1) of a Python client, seconds; real, and real - user - sys.
OF_2025 = (("property by property", 2.048, 1.059), ("qom-list-get per object", 0.402, 0.143),
           ("qom-list-getv of many", 0.200, 0.053), ("qom-tree-get", 0.143, 0.008))


def paths_of(node, path=""):
    """Of all objects of a tree as .tree.json has it."""
    found = [path or "/"]
    for child in node["children"]:
        found += paths_of(child, f"{path}/{child['name']}")
    return found


def walk_qom(qmp, path="/"):
    """The paths of all objects of a QEMU, by qom-list."""
    found = [path]
    for entry in qmp.call("qom-list", path=path):
        if entry["type"].startswith("child<"):
            found += walk_qom(qmp, f"{path.rstrip('/')}/{entry['name']}")
    return found


def count_properties(node):
    return len(node["properties"]) + sum(count_properties(child) for child in node["children"])


def arguments_of(lab, paths):
    """A file with the arguments of one qom-list-get of all."""
    return lab.file("paths", json.dumps({"paths": paths}, separators=(",", ":")))


def padded(lab, path):
    """Arguments as long as those, that ask for nothing."""
    return lab.file("blank", "{" + " " * (len(Path(path).read_text()) - 2) + "}")


def ours_ways(lab, server, slow=True):
    """All ways to read a tree of ours, and the bare programs with the same bytes."""
    content = Path(server.path("qom", ".tree.json")).read_bytes()
    tree = json.loads(content)
    arguments = arguments_of(lab, paths_of(tree))
    bare = lab.bare_qmp(content.decode())
    bare_mount = lab.bare_fuse(content)
    ways = [server.way(text, "tree", method) for method, text in METHODS if slow or method != "get"]
    ways += [
        server.way("one qom-list-get of all paths", "call", f"qom-list-get:{arguments}"),
        server.way("one qom-tree-get", "call", f"qom-tree-get:{lab.file('root', json.dumps({'path': '/'}))}"),
        server.way(".tree.json", "read", server.path("qom", ".tree.json")),
        server.way("every file one by one", "files", server.path("qom")),
        bare.way("the same bytes as a reply", "call", "any"),
        ",".join(["the same bytes as a cached file", "bare FUSE", "-", "0", "read", f"{bare_mount}/cached/tree.json"]),
        ",".join(["the same bytes as a file not cached", "bare FUSE", "-", "0", "read",
                  f"{bare_mount}/buffered/tree.json"]),
    ]
    return ways, count_properties(tree), bare


def qemu_ways(lab, server, qemu, slow=True):
    """What a QEMU has: without qom-list-get only one of the ways."""
    ways = [server.way("property by property", "tree", "get")] if slow else []
    if qemu.has_bulk:
        with Qmp(server.socket) as qmp:
            arguments = arguments_of(lab, walk_qom(qmp))
        ways += [
            server.way("qom-list-get per object", "tree", "list-get"),
            server.way("qom-list-get per level", "tree", "list-getv"),
            server.way("one qom-list-get of all paths", "call", f"qom-list-get:{arguments}"),
            server.way("a request as long that asks nothing", "call", f"query-name:{padded(lab, arguments)}"),
        ]
    return ways


def measure_recorded(lab, qemus, quick):
    """The default machine of QEMU 11.1: recorded and behind our socket, and the QEMUs with theirs."""
    ours = lab.qomfs(RECORDED)
    ways, properties, bare = ours_ways(lab, ours)
    others = []
    for qemu in qemus:
        if qemu.version >= (7, 0):
            others.append(lab.qemu(qemu))
            ways += qemu_ways(lab, others[-1], qemu)
    rows = lab.measure("ways-bench", f"--seconds={20 if quick else 100}", "--rounds=200", *ways)
    lab.end(ours, bare, *others)
    reference = ("one qom-list-get of all paths", newest_bulk(qemus))
    return Section(
        f"Tree: the default machine of QEMU 11.1, {properties} properties",
        "ours is a recording that is served, no VM: it cannot change. A QEMU is a whole VM, stopped, without guest, and makes "
        "each value anew. The client is the same C program; `every file` and `.tree.json` are read from the mount",
        [way_row(row) for row in rows], reference, notes=list(reading_notes(rows, qemus)))


def newest_bulk(qemus):
    bulk = [qemu for qemu in qemus if qemu.has_bulk]
    return bulk[-1].name if bulk else "none"


def reading_notes(rows, qemus):
    """What of QEMU's time is the reading of the request, and what is its main loop."""
    by_name = {(row["name"], row["server"]): row for row in rows}
    for qemu in qemus:
        whole = by_name.get(("one qom-list-get of all paths", qemu.name))
        blank = by_name.get(("a request as long that asks nothing", qemu.name))
        if whole and blank and whole["wall"] and blank["wall"]:
            monitor = {name: median(values) for name, values in whole["threads"].items() if "mon" in name}
            main = [median(values) for name, values in whole["threads"].items() if name.startswith("qemu-system")]
            yield (f"{qemu.name}, one qom-list-get of all paths: {time_text(median(whole['wall']))}; a request of as many bytes "
                   f"that asks nothing {time_text(median(blank['wall']))}. Its threads: reading "
                   f"{time_text(sum(monitor.values()))}, main loop {time_text(sum(main))}")
    for way, real, rest in OF_2025:
        yield f"in 2025, {way}: real {real:.3f} s, real - user - sys {rest:.3f} s (time(1) of a Python client, another machine)"


def measure_models(lab, qemus, quick):
    """The built-in VM with many CPUs, beside the newest QEMU with as many."""
    bulk = [qemu for qemu in qemus if qemu.has_bulk]
    for cpus, name in MODELS[:2] if quick else MODELS:
        ours = lab.qomfs({"cpus": {"count": cpus}})
        ways, properties, bare = ours_ways(lab, ours, slow=not quick or cpus < 100)
        others = []
        if bulk and cpus <= QEMU_CPUS_MAX:
            others.append(lab.qemu(bulk[-1], "-M", "q35", "-smp", str(cpus)))
            ways += qemu_ways(lab, others[0], bulk[-1], slow=not quick)
        rows = lab.measure("ways-bench", f"--seconds={15 if quick else 45}", "--rounds=50", "--rounds-min=1", "--warm-up=0",
                           *ways)
        lab.end(ours, bare, *others)
        yield Section(
            f"Tree: {name} properties ({properties}; {cpus} CPUs)",
            "ours is the built-in VM, which runs no guest; QEMU's q35 with as many CPUs, stopped, has other devices and "
            "properties, so compare by the property" + ("" if others else "; no QEMU has so many CPUs"),
            [way_row(row) for row in rows],
            ("one qom-list-get of all paths", bulk[-1].name) if others else None), properties, cpus


def measure_cpus(lab, qemus, quick):
    """One request for the whole tree against the number of CPUs, for the plot: (cpus, way, server, ns)."""
    bulk = [qemu for qemu in qemus if qemu.has_bulk]
    for cpus in PLOT_CPUS[:3] if quick else PLOT_CPUS:
        ours = lab.qomfs({"cpus": {"count": cpus}})
        tree = lab.file("root", json.dumps({"path": "/"}))
        arguments = arguments_of(lab, paths_of(json.loads(Path(ours.path("qom", ".tree.json")).read_bytes())))
        ways = [ours.way("qom-tree-get", "call", f"qom-tree-get:{tree}"),
                ours.way("qom-list-get", "call", f"qom-list-get:{arguments}"),
                ours.way(".tree.json", "read", ours.path("qom", ".tree.json"))]
        others = []
        if bulk:
            others.append(lab.qemu(bulk[-1], "-M", "q35", "-smp", str(cpus)))
            with Qmp(others[0].socket) as qmp:
                arguments = arguments_of(lab, walk_qom(qmp))
            ways.append(others[0].way("qom-list-get", "call", f"qom-list-get:{arguments}"))
        rows = lab.measure("ways-bench", "--seconds=4", "--rounds=20", "--rounds-min=2", *ways)
        lab.end(ours, *others)
        for row in map(way_row, rows):
            yield cpus, row
