#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""How much work reading is, which is the same on a busy machine: instructions (callgrind), system calls (strace), and
allocations of the daemon, within 10 % of what tests/data/work.json has.

Where the compiler, a library, the kernel or the options of the build are others than those that the file was recorded with,
what depends on them is not compared. After a change that is meant to cost more, or less, record anew, and say why in the commit:

    RECORD_WORK=1 tests/mount/run --build=build work
"""
# builds: plain
# slow
# alone
# timeout: 300

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "qmp"))
from lib import DATA, QOMFS, SOURCE, Failed, check, lazy_unmount, main, mounts_at, need, read_file, run, scratch, skip, test, until
from lib import write_file
from peer import Peer

RECORDED = os.path.join(SOURCE, "tests", "data", "work.json")
BUILD = os.environ["BUILD"]
RECORDING = bool(os.environ.get("RECORD_WORK"))
TOLERANCE = 0.10
DUMP = os.path.join(DATA, "qemu-11.1-pc.tree.json")
# A clock that moves would be work that nobody asked for.
STOPPED_VM = json.dumps({"paused": True, "disks": [{"id": f"disk{n}"} for n in range(20)]})


# ---- what is done ----


def read_again(*names):
    def work(point, _, times):
        for _ in range(times):
            check(read_file(os.path.join(point, *names)), "nothing was read")
    return work


def read_every_file(point, _, times):
    for _ in range(times):
        for folder, _, files in os.walk(os.path.join(point, "qom")):
            for name in files:
                path = os.path.join(folder, name)
                if name == ".tree.json" or os.path.islink(path):
                    continue
                try:
                    read_file(path)
                except OSError:
                    pass  # what could not be read when it was recorded


def ask(command, **arguments):
    def work(_, socket, times):
        peer = Peer(socket)
        peer.greet()
        for _ in range(times):
            peer.call(command, **arguments)
        peer.close()
    return work


# name: source, work, how often to begin with, how much more often then. What the difference takes is what is compared.
WORKS = {
    "mount, and end": (DUMP, None, 0, 1),
    "read .tree.json, unchanged": (DUMP, read_again("qom", ".tree.json"), 20, 400),
    "read a property, unchanged": (DUMP, read_again("qom", "machine", "type"), 20, 400),
    "read every file": (DUMP, read_every_file, 1, 2),
    "qom-tree-get of all": (DUMP, ask("qom-tree-get", path="/"), 20, 400),
    "query-cpu-definitions": (STOPPED_VM, ask("query-cpu-definitions"), 20, 400),
    "query-blockstats of 20 disks": (STOPPED_VM, ask("query-blockstats"), 20, 400),
}


def run_daemon(source, work, times, prefix=(), environment=None):
    """Mounts in the foreground under a tool, works, and ends it."""
    point, socket = scratch("mount"), os.path.join(scratch("qmp"), "s")
    if source.startswith("{"):
        source = write_file(source, "vm.json")
    with open(os.path.join(os.environ["TMP"], "tool"), "wb") as out:
        process = subprocess.Popen([*prefix, QOMFS, "-f", f"--qmp={socket}", source, point], stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out, env={**os.environ, **(environment or {})})
    try:
        ready = until(lambda: process.poll() is not None or (mounts_at(point) and os.path.exists(socket)), 60)
        check(ready and process.poll() is None, f"does not mount: {read_file(out.name).decode()}")
        if work:
            work(point, socket, times)
        daemon_of(process).send_signal(signal.SIGTERM)
        status = process.wait(60)
        check(status == 0, f"status {status}: {read_file(out.name).decode()}")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        lazy_unmount(point)


class Child:
    def __init__(self, pid):
        self.pid = pid

    def send_signal(self, number):
        os.kill(self.pid, number)


def daemon_of(process):
    """strace runs it as its child, the others become it."""
    children = read_file(f"/proc/{process.pid}/task/{process.pid}/children").split()
    return Child(int(children[0])) if children else process


# ---- what is counted ----


def instructions(source, work, times):
    out = os.path.join(scratch("callgrind"), "out")
    run_daemon(source, work, times, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"])
    found = re.search(rb"^(?:summary|totals): (\d+)", read_file(out), re.MULTILINE)
    return int(found[1])


def system_calls(source, work, times):
    out = os.path.join(scratch("strace"), "out")
    run_daemon(source, work, times, ["strace", "-f", "-c", "-U", "calls,name", "-o", out])
    return sum(int(line.split()[0]) for line in read_file(out).decode().splitlines()
               if re.fullmatch(r"\s*\d+ \w+\s*", line) and "total" not in line)


def allocations(source, work, times):
    counts = write_file(bytes(1024 * 24), "counts")  # as tests/bench/malloc-count.h says
    run_daemon(source, work, times, environment={
        "LD_PRELOAD": os.path.join(BUILD, "tests", "bench", "malloc-count.so"), "MALLOC_COUNT": counts,
        "G_SLICE": "always-malloc"})
    return sum(calls for _, calls, _ in struct.iter_unpack("=QQQ", read_file(counts)))


def need_tracing():
    need("strace")
    result = run("strace", "-o", "/dev/null", "true")
    if result.returncode:
        skip(f"strace cannot trace here: {result.stderr.decode().strip()}")


def need_counter():
    if not os.path.exists(os.path.join(BUILD, "tests", "bench", "malloc-count.so")):
        skip("this build has no malloc-count.so")


# name: how it is counted, what that needs, what it depends on
COUNTS = {
    "instructions": (instructions, lambda: need("valgrind"),
                     ("compiler", "optimization", "machine", "glibc", "glib", "fuse", "valgrind", "kernel")),
    "system calls": (system_calls, need_tracing, ("glibc", "glib", "fuse", "kernel")),
    "allocations": (allocations, need_counter, ("glibc", "glib", "fuse", "kernel")),
}


# ---- what it was counted with ----


def first_line(*command):
    if shutil.which(command[0]) is None:
        return "none"
    return run(*command).stdout.decode().splitlines()[0].strip()


def conditions():
    with open(os.path.join(BUILD, "meson-info", "intro-targets.json"), encoding="utf-8") as file:
        compiler = next(target["target_sources"][0]["compiler"] for target in json.load(file) if target["name"] == "qomfs")
    with open(os.path.join(BUILD, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        options = {option["name"]: option["value"] for option in json.load(file)}
    return {
        "compiler": first_line(*compiler, "--version"),
        "optimization": f"-O{options['optimization']}" + (", ".join(["", *options["c_args"]])),
        "machine": os.uname().machine,
        "glibc": os.confstr("CS_GNU_LIBC_VERSION"),
        "glib": first_line("pkg-config", "--modversion", "glib-2.0"),
        "fuse": first_line("pkg-config", "--modversion", "fuse3"),
        "valgrind": first_line("valgrind", "--version"),
        "kernel": ".".join(os.uname().release.split(".")[:2]),
    }


def recorded():
    with open(RECORDED, encoding="utf-8") as file:
        return json.load(file)


def count_work(count, name):
    source, work, few, more = WORKS[name]
    if work is None:
        return count(source, None, 0)
    return round((count(source, work, few + more) - count(source, work, few)) / more, 1)


def compare(kind, name):
    count, require, depends = COUNTS[kind]
    require()
    now = conditions()
    if RECORDING:
        measured = count_work(count, name)
        have = recorded() if os.path.exists(RECORDED) else {}
        have["recorded-with"] = now
        have.setdefault(kind, {})[name] = measured
        with open(RECORDED, "w", encoding="utf-8") as file:
            json.dump(have, file, indent=1)
            file.write("\n")
        return
    have = recorded()
    for condition in depends:
        if have["recorded-with"][condition] != now[condition]:
            skip(f"recorded with {condition} {have['recorded-with'][condition]}, this is {now[condition]}")
    wanted, measured = have[kind][name], count_work(count, name)
    low, high = wanted * (1 - TOLERANCE), wanted * (1 + TOLERANCE)
    if not low <= measured <= high:
        measured = count_work(count, name)  # a thread more or less, once; a slip is there each time
    if not low <= measured <= high:
        raise Failed(f"{measured} {kind}, recorded are {wanted}. If that is meant, record anew: see the head of this file")


for KIND_OF_COUNT in COUNTS:
    for WORK in WORKS:
        test(f"{KIND_OF_COUNT}: {WORK}")(lambda kind=KIND_OF_COUNT, work=WORK: compare(kind, work))

if __name__ == "__main__":
    main()
