#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""summary.py RESULTS.json: the results of run.sh as the short tables, in Markdown, that README.md and docs/performance.md carry."""

import json
import re
import sys
from pathlib import Path

from goals import verdict_of
from results import time_text
from tree import OF_2025

SAME_WAY = {"qom-list-getv per level": "qom-list-get per level", "one qom-tree-get": "one qom-list-get of all paths",
            "qom-tree-get": "qom-list-get per level"}
OF_2025_NAMES = {"qom-list-getv per level": "qom-list-getv of many"}


def rows_of(section):
    return {(row["name"], row["server"]): row for row in section["rows"] if "real" in row}


def cell(row, key):
    return time_text(row[key]["median"]) if row else ""


def table(head, lines):
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join(["---"] * len(head)) + " |"
    for line in lines:
        yield "| " + " | ".join(line) + " |"
    yield ""


def tree(section, qemu):
    rows, of_2025 = rows_of(section), {name: (real, rest) for name, real, rest in OF_2025}
    lines = []
    for (name, server), row in rows.items():
        if server != "qomfs":
            continue
        theirs = rows.get((name, qemu)) or rows.get((SAME_WAY.get(name), qemu))
        named = "" if not theirs or theirs["name"] == name else f" ({theirs['name']})"
        then = of_2025.get(OF_2025_NAMES.get(name, name))
        lines.append([name, cell(row, "real"), cell(row, "cpu"), cell(theirs, "real") + named, cell(theirs, "cpu"),
                      f"{then[0]:.3f} s ({then[1]:.3f} s)" if then else ""])
    yield from table(["the tree", "qomfs", "its CPU", qemu, "its CPU", "in 2025: real (real - user - sys)"], lines)


def main_loop(row):
    return sum(figure["median"] for name, figure in row["threads"].items() if name.startswith("qemu-system"))


def cpus(section):
    lines = []
    rows = rows_of(section)
    counts = {row["server"]: row for row in section["rows"] if row["name"] == "allocations"}
    for (name, server), row in rows.items():
        if name == "query-cpu-definitions":
            lines.append([server, cell(row, "real"), time_text(main_loop(row)) if main_loop(row) else "none",
                          cell(row, "cpu"), f"{counts[server]['calls']:,}", f"{counts[server]['bytes'] / 2 ** 20:.1f} MiB"])
    lines.append(["in 2020, inside the function", "", "204 ms, then 16 ms", "", "180,000, then 40,000", "12 MiB, then 9 MiB"])
    yield from table(["query-cpu-definitions", "wall time", "main loop", "server's CPU", "allocations", "bytes"], lines)


def disks(sections, qemu):
    lines = []
    for section in sections:
        rows = rows_of(section)
        count = re.search(r"(\d+) disks", section["title"])[1]
        ours, theirs = rows[("query-blockstats", "qomfs")], rows.get(("query-blockstats", qemu))
        lines.append([count, cell(ours, "real"), cell(ours, "cpu"), cell(rows.get(("blockstats/.tree.json", "qomfs")), "real"),
                      cell(theirs, "real"), time_text(main_loop(theirs)) if theirs else ""])
    yield from table(["query-blockstats, disks", "qomfs", "its CPU", "as a file", qemu, "its main loop"], lines)


def losses(sections):
    lines = []
    for section in sections:
        for row in section["rows"]:
            if "loss" in row:
                lines.append([f"{row['server']}, {row['name']}", f"{row['loss']:.2f} %", f"{row['noise']:.2f} %",
                              f"{row['expected']:.1f} %" if row.get("expected") else ""])
    yield from table(["I/O lost, 500 disks polled", "lost", "noise", "expected"], lines)


def goals(entries):
    lines = []
    for entry in entries:
        value = "" if entry["value"] is None else f"{entry['value']:.2f} {entry['unit']}"
        bound = f"at {'least' if entry['at-least'] else 'most'} {entry['bound']:g}"
        lines.append([entry["goal"], value, bound, verdict_of(entry).replace("MISSED", "**missed**")])
    yield from table(["goal", "measured", "bound", ""], lines)


def main():
    data = json.loads(Path(sys.argv[1]).read_text(encoding="ascii"))
    sections = data["sections"]
    qemu = re.findall(r"QEMU \d+\.\d+", data["qemus"])[-1]

    def of(start):
        return [section for section in sections if section["title"].startswith(start)]

    print(f"{data['date']}. {data['machine']}; {data['qemus']}.\n")
    for part in (tree(of("Tree: the default")[0], qemu), cpus(of("CPU definitions")[0]), disks(of("Block statistics"), qemu),
                 losses(of("I/O lost") + of(f"A live {qemu}, ")), goals(data["goals"])):
        print("\n".join(part))


if __name__ == "__main__":
    main()
