#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""Dumps of the whole root: views beside the object tree, and that a saved root's .tree.json gives the same mount again.

    {"qom":{...},"cpu-definitions":[...],"blockstats":[...],"vm":{...}}
"""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from crawl import crawl
from expected import Entry, blockstats, cpu_definitions, parse
from lib import Mount, check, equal, main, none, read_file, recorded, recorded_views, root_dump, scratch, test
from lib import tests_for, write_file

VIEWS = ("qom", "cpu-definitions", "blockstats")
# machine, kind of statistics, names of the disks' directories
MACHINES = (
    ("qemu-11.1-q35-rich", "default", ["disk0", "nvme0", "disk1"]),
    ("qemu-11.1-q35-rich", "query-nodes",
     ["#block038", "raw0", "#block183", "#block229", "#block357", "#block490", "#block590"]),
    ("qemu-11.1-pc", "default", ["ide1-cd0", "floppy0"]),
    ("qemu-7.2-q35-rich", "default", ["disk0", "nvme0", "sd0", "disk1"]),
    ("qemu-7.2-pc", "default", ["ide1-cd0", "floppy0", "sd0"]),
)


def same_everywhere(mount, view, expected, mtime_ns):
    result = crawl(mount.file(view), expected, mtime_ns, owner=(os.getuid(), os.getgid()))
    for aspect, problems in result.problems.items():
        none(problems, f"{view}: {aspect}")
    check(result.counts["values"] or not any(e.kind == "file" for e in expected.values()), f"{view}: nothing compared")


@tests_for(MACHINES, "{0[0]}, {0[1]}: cpu-definitions/ and blockstats/ are what was recorded")
def views(machine):
    name, kind, disks = machine
    definitions, statistics = (parse(text) for text in recorded_views(name, kind))
    dump = write_file(root_dump(name, kind))
    mtime_ns = os.stat(dump).st_mtime_ns
    with Mount(dump) as mount:
        equal([n for n in os.listdir(mount.file("blockstats")) if n != ".tree.json"], disks, "the disks' directories")
        same_everywhere(mount, "blockstats", blockstats(statistics), mtime_ns)
        same_everywhere(mount, "cpu-definitions", cpu_definitions(definitions), mtime_ns)
        check(mount.read("qom", ".tree.json") == read_file(recorded(name)), "qom/.tree.json differs")


@test("a disk's directory holds members of the entry and of its stats side by side, and directories for what is nested")
def one_disk():
    with Mount(write_file(root_dump("qemu-11.1-q35-rich"))) as mount:
        equal(mount.read("blockstats", "disk0", "device"), b"drive0\n", "a member of the entry")
        equal(mount.read("blockstats", "disk0", "rd_bytes"), b"0\n", "a member of stats")
        equal(mount.read("blockstats", "disk0", "timed_stats"), b"[]\n", "a structure")
        deep = mount.read("blockstats", "disk0", "backing", "parent", "driver-specific", "driver")
        equal(deep, b"file\n", "a member deep inside")
        check(not os.path.exists(mount.file("blockstats", "disk0", "stats")), "stats is there as well")
        saved = json.loads(mount.read("blockstats", "disk0", "backing", ".tree.json"))
        equal(sorted(saved), ["node-name", "parent", "stats"], "the .tree.json of a nested directory")


@test("the same disk name twice, no name, names that are no file names")
def disk_names():
    entries = [
        {"device": "d", "stats": {"rd_bytes": 1234567890123460}},
        {"device": "d", "stats": {"rd_bytes": 18446744073709551615}},
        {"device": "d.2", "stats": {}},
        {"stats": {"x": 1}},
        {"device": "", "node-name": "", "stats": {"x": 2}},
        {"qdev": "/machine/peripheral-anon/device[0]", "device": "a/b", "stats": {"x": 3}},
        {"qdev": "..", "stats": {"x": 4}},
        {"qdev": "/machine/peripheral/p0/x/y", "device": "zz", "stats": {"x": 5}},
        {"qdev": "/machine/peripheral/p0", "device": "yy", "stats": {"x": 6}},
        {"qdev": "/machine/peripheral/", "node-name": "only-a-node", "stats": {"x": 7}},
    ]
    tree = '{"name":"/","children":[],"properties":[]}'
    text = json.dumps(entries, separators=(",", ":"))
    dump = write_file(f'{{"qom":{tree},"blockstats":{text}}}')
    with Mount(dump) as mount:
        names = [name for name in os.listdir(mount.file("blockstats")) if name != ".tree.json"]
        equal(names, ["d", "d.2", "d.2.2", "3", "4", "a%2Fb", "%2E%2E", "p0", "p0.2", "only-a-node"], "the directories")
        same_everywhere(mount, "blockstats", blockstats(parse(text)), os.stat(dump).st_mtime_ns)
        equal(mount.read("blockstats", "d", "rd_bytes"), b"1234567890123460\n", "a long number")
        equal(mount.read("blockstats", "d.2", "rd_bytes"), b"18446744073709551615\n", "the longest number")


@test("statistics whose stats has a member that the entry has too: both are there")
def same_member():
    entries = '[{"device":"d","node-name":"n","stats":{"device":"inner","rd_bytes":5}}]'
    dump = write_file(f'{{"qom":{{"name":"/","children":[],"properties":[]}},"blockstats":{entries}}}')
    with Mount(dump) as mount:
        names = set(os.listdir(mount.file("blockstats", "d")))
        equal(names, {".tree.json", "device", "device.2", "node-name", "rd_bytes"}, "names")
        equal(mount.read("blockstats", "d", "device"), b"d\n", "the entry's own")
        equal(mount.read("blockstats", "d", "device.2"), b"inner\n", "that of stats")
        equal(mount.read("blockstats", ".tree.json"), entries.encode() + b"\n", "the JSON")


@tests_for(MACHINES, "{0[0]}, {0[1]}: what cp saved of the root gives the same bytes again")
def round_trip(machine):
    name, kind, _ = machine
    saved = os.path.join(scratch(), "saved.json")
    with Mount(write_file(root_dump(name, kind))) as mount:
        shutil.copyfile(mount.file(".tree.json"), saved)
        first = {view: mount.read(view, ".tree.json") for view in VIEWS}
        root = parse(read_file(saved).decode())
        equal(root.names(), [*VIEWS, "vm"], "members of the root's JSON")
        for view in (*VIEWS, "vm"):
            equal(root.member(view).text.encode() + b"\n", mount.read(view, ".tree.json"), f"the root's {view}")
        equal(root.text.encode() + b"\n", read_file(saved), "the root's JSON is compact, on one line")
    with Mount(saved) as mount:
        for view in VIEWS:
            check(mount.read(view, ".tree.json") == first[view], f"{view} differs the second time")
        again = parse(mount.read(".tree.json").decode())
        for view in VIEWS:
            check(again.member(view).text == root.member(view).text, f"{view} differs in the root's JSON")


def check_lacking(mount, view):
    equal(os.listdir(mount.file(view)), [".tree.json"], f"{view}/")
    equal(mount.read(view, ".tree.json"), b"[]\n", f"{view}/.tree.json")
    equal(json.loads(mount.read(".tree.json"))[view], [], f"{view} in the root's JSON")


@test("views that a dump lacks are empty directories, and [] in the JSON")
def lacking():
    with Mount(recorded("qemu-7.2-pc")) as mount:
        check_lacking(mount, "cpu-definitions")
        check_lacking(mount, "blockstats")
    tree = read_file(recorded("qemu-7.2-pc")).decode().strip()
    with Mount(write_file(f'{{"qom":{tree}}}')) as mount:
        check_lacking(mount, "cpu-definitions")
        check_lacking(mount, "blockstats")
        equal(mount.read("qom", ".tree.json").decode(), tree + "\n", "qom/.tree.json")
    with Mount(write_file(f'{{"blockstats":[],"cpu-definitions":[],"qom":{tree}}}')) as mount:
        check_lacking(mount, "cpu-definitions")
        check_lacking(mount, "blockstats")


@test("the root lists its views")
def root():
    known = {"qom", "cpu-definitions", "blockstats", "vm", ".tree.json", "query", "events", "qmp"}
    with Mount(recorded("qemu-7.2-pc")) as mount:
        names = set(os.listdir(mount.path))
        check({"qom", "cpu-definitions", "blockstats", "vm", ".tree.json"} <= names <= known, f"the root holds {names}")


@test("vm/ of a dump: its files are its JSON; the source is the file; what the dump says of its VM is kept")
def vm():
    more = ',"vm":{"name":"vm7","uuid":"","status":"paused","version":"11.1.3","source":"live","generation":7}'
    for dump, name in ((recorded("qemu-7.2-pc"), ""), (write_file(root_dump("qemu-11.1-pc", more=more)), "vm7")):
        with Mount(dump) as mount:
            record = parse(mount.read("vm", ".tree.json").decode())
            expected = {key.encode(): Entry("file", value.file()) for key, value in record.content}
            expected[b""] = Entry("directory", tree=record.text)
            same_everywhere(mount, "vm", expected, None)
            equal(set(record.names()) >= {"name", "version", "source", "generation", "connected"}, True, "its members")
            equal(record.member("source").content, dump, "vm/source")
            equal(record.member("name").content, name, "vm/name")
            if name:
                equal(record.member("version").content, "11.1.3", "vm/version")


main()
