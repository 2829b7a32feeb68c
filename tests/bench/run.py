# SPDX-License-Identifier: MIT
"""All measurements, in one run: called by run.sh, which builds.

Parts: limit (limit.sh: against a bare FUSE program), tree (experiment 1), cpus (2), blocks (3: what a query costs), loss
(3: guest I/O under polling), live (a running QEMU, mounted), stall (its disks' longest wait). Each says beside its table what it compares."""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import blocks
import cpus
import goals
import live
import plots
import stall
import tree
from lab import SOURCE, Lab, LabError, find_qemus

PARTS = ("limit", "tree", "cpus", "blocks", "loss", "live", "stall")


class Report:
    """What goes to the table and to the JSON; sections are shown as they come."""

    def __init__(self, folder, head):
        self.folder, self.head = folder, head
        self.sections, self.goals, self.limit = [], [], []
        self.table = open(folder / "table.txt", "w", encoding="utf-8")
        self.say(*head.values(), "")

    def say(self, *lines):
        for line in lines:
            print(line, flush=True)
            print(line, file=self.table, flush=True)

    def add(self, section):
        self.sections.append(section)
        self.say(*section.lines())
        return section

    def end(self):
        self.say(*goals.lines(self.goals))
        data = {**self.head, "sections": [section.data() for section in self.sections], "limit": self.limit,
                "goals": self.goals}
        (self.folder / "results.json").write_text(json.dumps(data, indent=1) + "\n", encoding="ascii")
        self.table.close()


def note(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def head(arguments, qemus):
    processor = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), platform.machine())
    command = "tests/bench/run.sh" + "".join(f" {argument}" for argument in arguments)
    return {
        "date": f"{datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %z}, by {command}",
        "machine": f"Linux {platform.release()}, {os.cpu_count()} CPUs ({processor}), load {os.getloadavg()[0]:.1f} at the start",
        "qemus": "beside " + (", ".join(f"{qemu.name} ({qemu.full})" for qemu in qemus) or "no QEMU: none is installed"),
    }


def measure_limit(report, quick):
    """limit.sh's own table is text as well as JSON: the JSON is kept, the text is made of it."""
    command = [str(SOURCE / "tests" / "bench" / "limit.sh"), "--json"] + (["--quick"] if quick else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=900)
    if done.returncode:
        raise LabError("limit.sh failed")
    report.limit = [json.loads(line) for line in done.stdout.splitlines()]
    report.say("Against the limit, a bare FUSE program with the same bytes (limit.sh; medians, ratios to the second of each)")
    for row in report.limit:
        report.say(f"  {row['title']}")
        for series in row.get("series", ()):
            ratio = f"{series['median-ratio']:9.2f}" if "median-ratio" in series else ""
            report.say(f"    {series['name']:20s} {series['rounds']:6.0f} rounds {series.get('min-ns', 0) / 1e3:10.1f} "
                       f"{series.get('median-ns', 0) / 1e3:10.1f} {series.get('p99-ns', 0) / 1e3:10.1f} us {ratio}")
        if "value" in row:
            report.say(f"    {row['value']:.2f} {row['unit']}")
    report.say("")
    report.goals += goals.from_limit(report.limit)


def main_loop_ns(sections, qemu):
    """What a query of all disks takes of a QEMU's main loop."""
    for section, count in sections:
        row = section.row(blocks.COMMAND, qemu.name) if count == blocks.POLLED_DISKS else None
        if row:
            return sum(figure["median"] for name, figure in row["threads"].items() if name.startswith("qemu-system"))
    return 0


def measure(report, lab, qemus, parts, quick):
    newest = qemus[-1] if qemus else None
    if "limit" in parts:
        note("against the limit")
        measure_limit(report, quick)
    if "tree" in parts:
        note("the tree, recorded")
        section = report.add(tree.measure_recorded(lab, qemus, quick))
        report.goals += goals.from_tree(section, newest) if newest else []
        note("the tree, by the number of properties")
        models = []
        for model in tree.measure_models(lab, qemus, quick):
            report.add(model[0])
            models.append(model)
        plots.properties(report.folder, models)
        note("the tree, by the number of CPUs")
        plots.cpus(report.folder, tree.measure_cpus(lab, qemus, quick))
    if "cpus" in parts:
        note("CPU definitions")
        section = report.add(cpus.measure(lab, qemus, quick))
        report.goals += goals.from_cpus(section, newest) if newest else []
    sections = []
    if "blocks" in parts or "loss" in parts:
        note("block statistics")
        for measured in blocks.measure_queries(lab, qemus, quick):
            report.add(measured[0])
            sections.append(measured)
        plots.disks(report.folder, sections)
        report.goals += goals.from_blocks(sections, newest) if newest else []
    if "loss" in parts:
        note("I/O of the model under polling")
        section = report.add(blocks.measure_model_loss(lab, quick))
        report.goals += goals.from_loss(section)
    if "loss" in parts and newest:
        note("QEMU's I/O under polling")
        report.add(blocks.measure_qemu_loss(lab, newest, main_loop_ns(sections, newest), quick))
    if "live" in parts and newest and newest.has_bulk:
        note("a running QEMU, mounted")
        measure_live(report, lab, newest, quick)
    if "stall" in parts:
        note("a running QEMU, mounted: its disk's longest wait")
        for qemu, section, longest, idle in stall.measure(lab, qemus, quick):
            report.add(section)
            what, bound, unit = stall.goal_of(qemu)
            entry = goals.goal(what, longest, bound, f"{unit} (an idle mount: {idle:.2f})")
            if stall.is_noise(longest, idle):
                entry["reached"], entry["too-noisy"] = None, True
            report.goals.append(entry)


def measure_live(report, lab, qemu, quick):
    try:
        sections = live.measure(lab, qemu, quick)
    except LabError as error:
        report.say(f"A live {qemu.name}, mounted: not measured", f"  {error}", "")
        report.goals += [goals.goal(what, None, bound, unit) for what, bound, unit in live.GOALS]
        return
    for section in sections:
        report.add(section)
    values = live.figures(sections)
    report.goals += [goals.goal(what, value, bound, unit) for (what, bound, unit), value in zip(live.GOALS, values)]


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="few rounds: less than 5 minutes")
    parser.add_argument("--only", default=":".join(PARTS), metavar="PART:PART...", help="which parts")
    parser.add_argument("--out", metavar="FOLDER", help="where results go")
    parser.add_argument("--no-install", action="store_true", help="use the packages that are there")
    arguments = parser.parse_args()
    parts = arguments.only.split(":")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part '{unknown[0]}'")
    folder = Path(arguments.out or Path(arguments.build) / "results")
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    shown = [argument for argument in sys.argv[1:] if not argument.startswith(("--build", "--out"))]
    try:
        qemus = find_qemus()
        report = Report(folder, head(shown, qemus))
        with Lab(arguments.build) as lab:
            measure(report, lab, qemus, parts, arguments.quick)
        report.end()
    except LabError as error:
        print(f"run.sh: {error}", file=sys.stderr)
        return 1
    note(f"{time.monotonic() - began:.0f} s; results are in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
