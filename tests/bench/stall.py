# SPDX-License-Identifier: MIT
"""How long a disk on a QEMU's main loop is kept waiting at most, while all kinds of readers crawl the mount at once; beside
one naive request for all of the tree."""

import contextlib
import os
import signal
import subprocess
import time

import blocks
import live
import tree
from lab import LabError, Qmp, may_come_first
from results import Section, figure, median, time_text

CPUS = 64
POLLERS, POLL_RATE = 10, 4
SECONDS = 5  # of a window
NAIVE_SECONDS = 3
READ_PAUSE_US = 200
CALM_US = 300000  # between windows, so that what one began is over
LONGEST_MS = 10
SINGLE = ("query-cpu-definitions", "query-qmp-schema")  # what cannot be split


def goal_of(qemu):
    """What is to be reached, its bound and unit."""
    return (f"live, {qemu.name} with {CPUS} CPUs: the longest wait of a disk while grep -r, .tree.json and {POLLERS} pollers run",
            LONGEST_MS, "ms")


def is_noise(longest, idle):
    """Where a machine keeps a disk waiting with nobody there, no crawl can be judged."""
    return longest > LONGEST_MS and idle > LONGEST_MS / 4


class Crawlers:
    """grep -r and readers of whole trees, one after the other without a pause, where the main loop is not; with no more
    than ordinary priority, whatever this program has, since they would leave nothing of that CPU to QEMU's monitor."""

    def __init__(self, mount):
        qom, whole = mount.path("qom"), mount.path(".tree.json")
        self.loops = [f"while :; do grep -rs 'no such words' '{qom}'; done", f"while :; do cat '{whole}'; done"]

    def __enter__(self):
        ordinary = ["chrt", "-o", "0"] if may_come_first() else []
        self.processes = [subprocess.Popen([*ordinary, "taskset", "-c", "1", "sh", "-c", loop], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, start_new_session=True) for loop in self.loops]

    def __exit__(self, *_):
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def windows(lab, io, server, seconds, *more):
    """One window: (the longest request, what 99.9 percent do not exceed), in nanoseconds."""
    target = more or ("idle",)
    line, = lab.measure("loss-bench", f"--window={seconds}", "--rounds=1", "--warm-up=0", "--poller-cpu=1", f"--pause={READ_PAUSE_US}", io,
                        blocks.group("window", server.pid, POLL_RATE, POLLERS, *target), cpu=blocks.CPU_OF_CLIENT)
    time.sleep(CALM_US / 1e6)
    return line["longest"][0], line["p999"][0]


@contextlib.contextmanager
def one_naive_request(lab, server, paths):
    """In the middle of the window that this stands around: all objects in one qom-list-get, by a client of its own."""
    way = server.way("naive", "call", f"qom-list-get:{paths}", sock=1)
    process = subprocess.Popen(["sh", "-c", 'sleep 1; exec taskset -c 1 "$@"', "sh", lab.tool("ways-bench"), "--rounds=1",
                                "--rounds-min=1", "--warm-up=0", way], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    yield
    if process.wait(60):
        raise LabError("the naive request failed")


def commands_in(trace):
    """How often each of the commands that cannot be split was sent."""
    with open(trace, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return {command: text.count(f'"{command}"') for command in SINGLE}


def row(name, server, measured):
    longest, p999 = [window[0] for window in measured], [window[1] for window in measured]
    return {"name": name, "server": server, "longest": figure(longest), "p999": figure(p999),
            "text": f"{name:44s} {len(measured):3d} windows   longest {time_text(max(longest)):>8s} (median of the windows' "
                    f"{time_text(median(longest)):>8s})   99.9 % {time_text(median(p999)):>8s}"}


def measure_one(lab, qemu, quick):
    trace = lab.file("trace", "")
    server, io = blocks.qemu_with_export(lab, qemu, False, 1, "-smp", str(CPUS), "-trace", "handle_qmp_command", "-D", trace)
    measured = {}

    def add(name, window):
        measured.setdefault(name, []).append(window)

    mount = lab.qomfs(server.socket)
    live.pin_others(mount)
    statistics = mount.path("blockstats", ".tree.json")
    with Qmp(server.sockets[1]) as qmp:
        paths = tree.arguments_of(lab, list(tree.walk_qom(qmp))) if qemu.has_bulk else None
    crawl = f"grep -r, .tree.json, {POLLERS} pollers"
    for _ in range(2 if quick else 5):
        add("an idle mount", windows(lab, io, server, SECONDS))
        with Crawlers(mount):
            add(crawl, windows(lab, io, server, SECONDS, "file", statistics))
        if paths:
            with one_naive_request(lab, server, paths):
                add("one naive qom-list-get of all paths, sent straight", windows(lab, io, server, NAIVE_SECONDS))
    shown = subprocess.Popen(["sh", "-c", 'sleep 0.5; ls "$1"; cat "$1/status.json"', "sh", mount.path("query")],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    add("query/ listed for the first time: the schema", windows(lab, io, server, NAIVE_SECONDS))
    shown.wait(60)
    lab.end(mount)
    sent = commands_in(trace)
    lab.end(server)
    section = Section(
        f"A live {qemu.name} with {CPUS} CPUs: how long a disk on its main loop waits at most",
        f"reads of 4 KiB of an NBD export, one every {READ_PAUSE_US / 1000:g} ms, at the default options; windows in turn. What an "
        "idle mount's windows have is the machine's doing. Commands that cannot be split stand apart",
        [row(name, qemu.name, values) for name, values in measured.items()],
        notes=["sent in all: " + ", ".join(f"{command} {count} times" for command, count in sent.items())])
    medians = [median([window[0] for window in measured[name]]) / 1e6 for name in (crawl, "an idle mount")]
    return section, *medians


def measure(lab, qemus, quick):
    """Of each QEMU: it, a section, the figure that goal_of() is about, and the same of an idle mount."""
    for qemu in qemus:
        if qemu.version >= (7, 0):
            yield qemu, *measure_one(lab, qemu, quick)
