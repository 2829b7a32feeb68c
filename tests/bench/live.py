# SPDX-License-Identifier: MIT
"""A running QEMU, mounted: what a crawl of its tree costs us, what it costs the VM, and that a hundred readers cost the VM no
more than one."""

import subprocess
import time

import blocks
from results import Section, figure, median, time_text

CPUS = 64
CRAWL_TTL, CRAWL_SECONDS = 0.5, 4
READERS = (1, 10, 100)
READ_RATE = 2  # of each reader, a second: as in 2016
TTL = 1

# What is to be reached, its bound and unit. The last one is `the same`, but for the noise.
GOALS = (("live, ls -lR: our own time", 0.3, "s"),
         ("live, every property file: our own time", 0.6, "s"),
         (f"live, {CPUS} CPUs: the longest stretch of the main loop that a crawl causes", 5, "ms"),
         (f"live: the main loop's time for {READERS[-1]} pollers against that for one", 1.2, "times"))


def main_loop_cpu(server):
    """Nanoseconds that the main loop of a QEMU has had."""
    with open(f"/proc/{server.pid}/task/{server.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def crawl(command):
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300)
    return (time.monotonic() - began) * 1e9


def measure_own(lab, qemu, quick):
    """Our own time for two crawls. All is fetched before, and stays valid; the kernel knows none of it."""
    kinds = {"ls -lR": ["ls", "-lR"], "every property file": ["grep", "-rsc", "."]}
    times = {kind: [] for kind in kinds}
    fetches = []
    target = lab.qemu(qemu)
    for kind, command in kinds.items():
        for _ in range(2 if quick else 7):
            mount = lab.qomfs(target.socket, "-o", "ttl=3600,hide_tree")
            began = time.monotonic()
            with open(mount.path("qom", ".tree.json"), "rb") as file:
                file.read()
            fetches.append((time.monotonic() - began) * 1e9)
            times[kind].append(crawl([*command, mount.path("qom")]))
            lab.end(mount)
    lab.end(target)
    section = Section(
        f"A live {qemu.name}, mounted: our own time for a crawl, on top of the fetch",
        "the tools' time too; everything is fetched before by one read of .tree.json, whose time is shown. QEMU's own qom-fuse "
        "took 18 s (ls -lR) and 44 s (all files) of such a machine")
    for kind, measured in [*times.items(), ("the fetch", fetches)]:
        shown = figure(measured)
        section.rows.append({"name": kind, "server": "qomfs, live", "time": shown,
                             "text": f"{kind:24s} {shown['rounds']:3d} rounds   {time_text(shown['min'])} at least, "
                                     f"{time_text(shown['median'])} median"})
    return section


def measure_stretch(lab, qemu, quick):
    """How long a request of a disk on QEMU's main loop waits at most, while its whole tree is fetched again and again."""
    server, io = blocks.qemu_with_export(lab, qemu, False, 1, "-smp", str(CPUS))
    mount = lab.qomfs(server.socket, "-o", f"ttl={CRAWL_TTL}")
    pin_others(mount)
    with open(mount.path("qom", ".tree.json"), "rb") as file:
        file.read()
    groups = lab.measure(
        "loss-bench", f"--window={CRAWL_SECONDS}", f"--rounds={2 if quick else 8}", "--poller-cpu=1", "--pause=200", io,
        blocks.group("idle", server.pid, 1 / CRAWL_TTL, 1, "idle"),
        blocks.group("while the tree is crawled", server.pid, 1 / CRAWL_TTL, 1, "file", mount.path("qom", ".tree.json")),
        cpu=blocks.CPU_OF_CLIENT)
    lab.end(mount, server)
    section = Section(
        f"A live {qemu.name} with {CPUS} CPUs: the longest request of a disk on its main loop",
        f"reads of 4 KiB of an NBD export, one every 0.2 ms; windows of {CRAWL_SECONDS} s, in which nobody reads the mount, or "
        "somebody reads the whole tree all the time. The goal is for the median of the windows' longest; what "
        "the windows without a crawl have is no crawl's doing")
    for row in groups:
        section.rows.append({"name": row["name"], "server": qemu.name, "longest": figure(row["longest"]),
                             "text": f"{row['name']:30s} {len(row['longest']):3d} windows   longest request "
                                     f"{time_text(median(row['longest']))} (at least {time_text(min(row['longest']))}, at most "
                                     f"{time_text(max(row['longest']))})"})
    return section


def pin_others(mount):
    """All of ours where QEMU's main loop is not."""
    mount.pin(lambda name, first: 1)


def measure_readers(lab, qemu, quick):
    """Many readers of the mount of a QEMU: its main loop's time, and the I/O that it loses."""
    section = Section(
        f"A live {qemu.name}, {blocks.POLLED_DISKS} disks, read through the mount every {1 / READ_RATE:g} s by each reader",
        f"values are fetched once in {TTL} s (ttl) however many read them. Beside readers of a plain file of the same length, "
        "who cost the machine as much; the measured disk is on the main loop, which has a CPU for itself")
    trace = lab.file("trace", "")
    server, io = blocks.qemu_with_export(lab, qemu, False, blocks.POLLED_DISKS, "-trace", "monitor_qmp_cmd_in_band", "-D", trace)
    mount = lab.qomfs(server.socket, "-o", f"ttl={TTL}")
    pin_others(mount)
    path = mount.path("blockstats", ".tree.json")
    with open(path, "rb") as file:
        plain = lab.new_path("plain")
        with open(plain, "wb") as copy:
            copy.write(file.read())
    groups = [blocks.group("idle", server.pid, READ_RATE, 1, "idle")]
    for readers in READERS:
        groups += [blocks.group(f"{readers} readers of a plain file", server.pid, READ_RATE, readers, "file", plain),
                   blocks.group(f"{readers} readers of the mount", server.pid, READ_RATE, readers, "file", path)]
    lines = lab.measure("loss-bench", f"--window={2 * TTL}", f"--rounds={2 if quick else 10}", "--poller-cpu=1", io, *groups,
                        cpu=blocks.CPU_OF_CLIENT, timeout=600)
    for row in blocks.loss_rows(lines):
        if row["name"] != "idle":
            section.rows.append({**row, "server": qemu.name, "text": blocks.loss_text(qemu.name, row)})
    section.rows += measure_main_loop(lab, server, path, trace, quick)
    lab.end(mount, server)
    section.notes.append(blocks.OF_2016)
    return section


def measure_main_loop(lab, server, path, trace, quick):
    """What its main loop does with so many readers, and no I/O: its time, and the commands that it gets."""
    still = lab.file("still", "0")
    window, rounds = (2 * TTL, 2) if quick else (5 * TTL, 4)
    spent = {readers: [] for readers in READERS}
    commands = {readers: [] for readers in READERS}
    for _ in range(rounds):
        for readers in READERS:
            before, commands_before, began = main_loop_cpu(server), lines_of(trace), time.monotonic()
            lab.measure("loss-bench", f"--window={window}", "--rounds=1", "--poller-cpu=1", f"counter,{still}",
                        blocks.group("readers", server.pid, READ_RATE, readers, "file", path), cpu=1)
            seconds = time.monotonic() - began
            spent[readers].append((main_loop_cpu(server) - before) / seconds)
            commands[readers].append((lines_of(trace) - commands_before) / seconds)
    for readers in READERS:
        yield {"name": f"main loop, {readers} readers", "server": server.name, "per-second": median(spent[readers]),
               "commands": median(commands[readers]),
               "text": f"{readers:3d} readers and no I/O: the main loop works {time_text(median(spent[readers]))} a second, on "
                       f"{median(commands[readers]):.1f} commands"}


def lines_of(path):
    with open(path, "rb") as file:
        return file.read().count(b"\n")


def measure(lab, qemu, quick):
    return [measure_own(lab, qemu, quick), measure_stretch(lab, qemu, quick), measure_readers(lab, qemu, quick)]


def figures(sections):
    """Those that GOALS are about."""
    own, stretch, readers = sections
    for row in own.rows[:2]:
        yield row["time"]["median"] / 1e9
    yield next(row for row in stretch.rows if row["name"] != "idle")["longest"]["median"] / 1e6
    per_second = {row["name"]: row["per-second"] for row in readers.rows if row["name"].startswith("main loop")}
    yield per_second[f"main loop, {READERS[-1]} readers"] / max(per_second[f"main loop, {READERS[0]} readers"], 1)
