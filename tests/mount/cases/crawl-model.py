#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""The built-in VM, mounted: each file is what .tree.json says, in all views; what cp saved of it can be mounted."""

import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from crawl import crawl
from expected import Entry, blockstats, cpu_definitions, objects, parse
from lib import Mount, check, equal, main, none, read_file, run, scratch, test

VIEWS = ("qom", "cpu-definitions", "blockstats")


def record(value):
    out = {name.encode(): Entry("file", member.file()) for name, member in value.content}
    out[b""] = Entry("directory", tree=value.text)
    return out


EXPECT = {"qom": objects, "cpu-definitions": cpu_definitions, "blockstats": blockstats, "vm": record}


def expected(mount, view):
    return EXPECT[view](parse(mount.read(view, ".tree.json").decode()))


def moving(mount, view):
    """Paths of what changes by itself, or has such a thing below."""
    first = expected(mount, view)
    time.sleep(1.1)
    second = expected(mount, view)
    equal(first.keys(), second.keys(), "names that come or go")
    return {path for path, entry in first.items()
            if (entry.content, entry.tree) != (second[path].content, second[path].tree)}


def compare(mount, view):
    """Crawls a view against its own .tree.json; what moves is compared for its names and attributes only."""
    moves = moving(mount, view)
    result = crawl(mount.file(view), expected(mount, view), file_modes=(0o444, 0o644), owner=(os.getuid(), os.getgid()))
    skipped = {path.decode() for path in moves} | {(path + b"/.tree.json").decode().lstrip("/") for path in moves}
    for aspect, problems in result.problems.items():
        if aspect in ("values", "trees", "sizes"):
            problems = [p for p in problems if p.split("': ")[0][1:] not in skipped]
        none(problems, f"{view}: {aspect}")
    return result, moves


@test("qom/: every property is a file, every file a property")
def tree():
    with Mount() as mount:
        result, moves = compare(mount, "qom")
        check(result.counts["values"] > 300 and result.counts["trees"] > 30, f"few were compared: {result.counts}")
        check(result.counts["links"] > 8, "there are few links")
        check(b"machine/rtc-time" in moves, f"the clock does not move; {moves} do")
        check(len(moves) < 20, f"much moves by itself: {moves}")


@test("cpu-definitions/, blockstats/ and vm/")
def views():
    with Mount() as mount:
        equal(compare(mount, "cpu-definitions")[0].counts["trees"] > 1, True, "there are CPU definitions")
        disks, _ = compare(mount, "blockstats")
        equal(disks.counts["trees"] > 2, True, "there are disks")
        compare(mount, "vm")
        for name in ("name", "uuid", "status", "version", "source", "generation", "connected"):
            check(mount.read("vm", name).endswith(b"\n"), f"vm/{name}")
        equal(mount.read("vm", "source"), b"model\n", "vm/source")
        equal(mount.read("vm", "status"), b"running\n", "vm/status")
        equal(mount.read("vm", "connected"), b"true\n", "vm/connected")


@test("what cp saved of the root gives the same bytes of qom, cpu-definitions and blockstats again")
def round_trip():
    saved = os.path.join(scratch(), "saved.json")
    with Mount() as mount:
        equal(run("cp", mount.file(".tree.json"), saved).returncode, 0, "cp's status")
    root = parse(read_file(saved).decode())
    equal(root.names(), [*VIEWS, "vm"], "members of the root's JSON")
    with Mount(saved) as mount:
        for view in VIEWS:
            check(root.member(view).text.encode() + b"\n" == mount.read(view, ".tree.json"), f"{view} differs")
            result = crawl(mount.file(view), EXPECT[view](root.member(view)), os.stat(saved).st_mtime_ns)
            for aspect, problems in result.problems.items():
                none(problems, f"{view}: {aspect}")
        shutil.copyfile(mount.file(".tree.json"), saved + "2")
    again = parse(read_file(saved + "2").decode())
    for view in VIEWS:
        check(again.member(view).text == root.member(view).text, f"{view} differs the second time")


@test("the model by name, and by nothing, is the same machine")
def by_name():
    with Mount() as first, Mount("model") as second:
        for view in ("cpu-definitions",):
            check(first.read(view, ".tree.json") == second.read(view, ".tree.json"), f"{view} differs")
        names = [run("find", ".", cwd=mount.file("qom")).stdout for mount in (first, second)]
        check(names[0] == names[1] and names[0].count(b"\n") > 300, "the names differ")


@test("the clock: an open file does not mix two times, the next open sees the newest")
def clock():
    with Mount() as mount:
        path = mount.file("qom", "machine", "rtc-time")
        descriptor = os.open(path, os.O_RDONLY)
        start = os.pread(descriptor, 5, 0)
        first = read_file(path)
        time.sleep(1.2)
        rest = os.pread(descriptor, 4096, 5)
        check(parse((start + rest).decode()) is not None, "an open file mixes two values")
        second = read_file(path)
        check(first != second, "the next open sees the old time")
        anew = os.pread(descriptor, 4096, 0)
        check(anew in (start + rest, second, read_file(path)), f"a read at offset 0 gives {anew!r}")
        os.close(descriptor)
        equal(os.stat(path).st_size, len(second), "its size")


@test("mtimes: those of what never changed stay, that of the clock grows")
def times():
    with Mount() as mount:
        still, clock_path = mount.file("qom", "machine", "type"), mount.file("qom", "machine", "rtc-time")
        before = os.stat(still).st_mtime_ns, os.stat(clock_path).st_mtime_ns
        time.sleep(1.2)
        read_file(clock_path)
        check(os.stat(still).st_mtime_ns == before[0], "the type's mtime moves")
        check(os.stat(clock_path).st_mtime_ns > before[1], "the clock's mtime stands still")
        check(abs(before[0] / 1e9 - time.time()) < 3600, "the mtime is not about now")


@test("grep -r, find -L, tar, cp -r, du and rsync get through all of it")
def tools():
    with Mount() as mount:
        folder = scratch()
        for command, good in (
            (("grep", "-rsq", "x86_64", mount.path), (0,)),
            (("du", "-s", mount.path), (0,)),
            (("find", mount.path, "-type", "f"), (0,)),
            (("find", "-L", mount.file("qom"), "-maxdepth", "6"), (0, 1)),
            (("cp", "-r", mount.file("qom"), folder), (0, 1)),
            (("tar", "-C", mount.path, "-cf", folder + "/a.tar", "qom", "blockstats"), (0, 1, 2)),
        ):
            result = run(*command, timeout=60)
            check(result.returncode in good, f"{command}: status {result.returncode}, {result.stderr[-300:]!r}")
            check(b"padding" not in result.stderr, f"{command}: {result.stderr[-300:]!r}")


main()
