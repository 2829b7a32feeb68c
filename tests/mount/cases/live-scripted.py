#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 180
# builds: plain asan tsan
"""A scripted QEMU, mounted: what it is asked, and what of it is shown when it misbehaves."""

import errno
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import AT_ONCE, PACE, SLOW, Mount, check, equal, main, prompt, run, test, tests_for, timed, until
from scripted import Scripted, Thing, Unreadable

TTL = 0.5 * PACE
TIMEOUT = 2.0 * PACE
KINDS = {"with": True, "without": False}  # bulk commands


def mounted(qemu, more="duty=100", ttl=TTL):
    options = f"ttl={ttl},timeout={TIMEOUT}" + ("," + more if more else "")
    return Mount(qemu.path, options=options)


def problem(function, *arguments):
    """The name of the error that it ends with, or its result."""
    try:
        return function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]


def error_of(mount, *names):
    return os.getxattr(mount.file(*names), "user.qom.error").decode()


# ---- what is asked ----


@tests_for(KINDS, "{} bulk commands: nothing is introspected, and all is what the target says")
def asks_little(kind):
    with Scripted(bulk=KINDS[kind]) as qemu:
        qemu.add("/machine/peripheral/disk0", Thing("disk", {"drive": "link<block>"}, drive="/objects", size=2**64 - 1))
        qemu.add("/machine/peripheral/disk1", Thing("disk", {"drive": "link<block>"}, drive="", size=-1))
        with mounted(qemu) as mount:
            equal(run("ls", "-lR", mount.file("qom")).returncode, 0, "ls -lR")
            if not KINDS[kind]:
                equal({a["property"] for a in qemu.asked("qom-get")} - {"drive"}, set(), "values read by ls -lR")
            equal(run("grep", "-r", "x", mount.file("qom")).returncode, 0, "grep -r")
            equal(os.readlink(mount.file("qom/machine/peripheral/disk0/drive")), "../../../objects", "a link")
            equal(mount.read("qom/machine/peripheral/disk1/drive"), b"\n", "a link that is not set")
            equal(mount.read("qom/machine/peripheral/disk0/size"), b"18446744073709551615\n", "a large number")
            equal(mount.read("qom/machine/peripheral/disk1/size"), b"-1\n", "a small one")
            tree = json.loads(mount.read("qom/.tree.json"))
            equal([child["name"] for child in tree["children"]], ["machine", "objects"], "children, by name")
            names = [p["name"] for p in tree["children"][0]["properties"]]
            equal(names, ["type", "flag", "n", "text"], "properties: type, then by name")
        commands = {command for command, _ in qemu.log}
        check(not [c for c in commands if c.endswith("list-properties")], f"introspection: {commands}")


@tests_for(KINDS, "{} bulk commands: many readers within a ttl cost one request, with ttl=0 each asks")
def merges(kind):
    with Scripted(bulk=KINDS[kind]) as qemu, mounted(qemu, ttl=30) as mount:
        mount.read("qom/machine/n")
        qemu.forget()
        threads = [threading.Thread(target=mount.read, args=("qom/machine/n",)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        mount.read("qom/machine/.tree.json")
        before = len(qemu.asked("qom-get", "qom-list-get", "qom-list"))
        mount.read("qom/machine/.tree.json")
        equal(len(qemu.asked("qom-get", "qom-list-get", "qom-list")), before, "requests for what is known")
        about_n = [a for a in qemu.asked("qom-get") if a["property"] == "n"]
        equal(about_n, [], "requests for what was read before")
    with Scripted(bulk=KINDS[kind]) as qemu, mounted(qemu, ttl=0) as mount:
        for n in range(2, 6):
            qemu.objects["/machine"].values["n"] = n
            equal(mount.read("qom/machine/n"), b"%d\n" % n, "a value, read at once after it changed")


@test("what is constant for a process is asked for once")
def constant():
    with Scripted() as qemu, mounted(qemu, ttl=0.05) as mount:
        for _ in range(3):
            mount.read("cpu-definitions/.tree.json")
            os.listdir(mount.file("query"))
            mount.read("vm/name")
            equal(mount.read("query/kvm.json"), b'{"enabled":false,"present":false}\n', "query/kvm.json")
            time.sleep(0.1)
        for command in ("query-cpu-definitions", "query-qmp-schema", "query-name", "query-uuid"):
            check(len(qemu.asked(command)) <= 1, f"{command}: {len(qemu.asked(command))} times")


@tests_for(KINDS, "{} bulk commands: a secret is never read, though all else of its object is")
def secrets(kind):
    with Scripted(bulk=KINDS[kind]) as qemu:
        qemu.add("/objects/sec0", Thing("secret", data="swordfish", format="raw"))
        with mounted(qemu) as mount:
            equal(mount.read("qom/objects/sec0/format"), b"raw\n", "its format")
            equal(problem(mount.read, "qom/objects/sec0/data"), "EACCES", "its data")
            check(b"swordfish" not in mount.read("qom/.tree.json"), "the secret stands in the tree")
            check(b'"format"' in mount.read("qom/objects/.tree.json"), "its format does not stand in the tree")
            equal(run("ls", "-lR", mount.file("qom")).returncode, 0, "ls -lR")
        equal([a for a in qemu.asked("qom-get") if a["property"] == "data"], [], "requests for the secret")
        equal([a for a in qemu.asked("qom-list-get") if "/objects/sec0" in a["paths"]], [], "bulk requests for it")
        with mounted(qemu, "duty=100,secrets") as mount:
            equal(mount.read("qom/objects/sec0/data"), b"swordfish\n", "its data with -o secrets")


@test("a request asks for 400 properties at most, or one object")
def batches():
    with Scripted() as qemu:
        for i in range(60):
            qemu.add(f"/objects/o{i:02}", Thing("many", **{f"p{j:02}": j for j in range(49)}))
        qemu.add("/objects/huge", Thing("huge", **{f"p{j:03}": j for j in range(900)}))
        with mounted(qemu, ttl=30) as mount:
            tree = json.loads(mount.read("qom/.tree.json"))
            equal(len(tree["children"][1]["children"]), 61, "objects in the tree")
            size = {path: len(thing.values) + len(thing.children) for path, thing in qemu.objects.items()}
            asked = [a["paths"] for a in qemu.asked("qom-list-get")]
            large = [paths for paths in asked if len(paths) > 1 and sum(size[p] for p in paths) > 400]
            equal(large, [], "requests for more")
            check(any(len(paths) > 3 for paths in asked), "no two objects were asked for at a time")


# ---- what cannot be read, and what goes ----


@tests_for(KINDS, "{} bulk commands: one property that cannot be read spoils nothing else")
def unreadable(kind):
    with Scripted(bulk=KINDS[kind]) as qemu:
        qemu.objects["/machine"].values["crash"] = Unreadable("No crash occurred")
        with mounted(qemu) as mount:
            equal(problem(mount.read, "qom/machine/crash"), "EIO", "how it reads")
            equal(error_of(mount, "qom/machine/crash"), "No crash occurred", "why")
            equal(mount.read("qom/machine/text"), b"a b\n", "its neighbour")
            tree = json.loads(mount.read("qom/machine/.tree.json"))
            entries = {p["name"]: p for p in tree["properties"]}
            equal(entries["crash"], {"name": "crash", "type": "string"}, "its entry")
            equal(entries["text"]["value"], "a b", "its neighbour's entry")
            qemu.objects["/machine"].values["crash"] = "yes"
            time.sleep(1.2 * TTL)
            equal(mount.read("qom/machine/crash"), b"yes\n", "when it can be read")


@tests_for(KINDS, "{} bulk commands: what comes and goes without a word is seen within a ttl, by its name alone")
def comes_and_goes(kind):
    with Scripted(bulk=KINDS[kind]) as qemu, mounted(qemu) as mount:
        new = mount.file("qom/machine/peripheral/new")
        for _ in range(3):
            check(not os.path.exists(new), "it is there before")
            qemu.add("/machine/peripheral/new", Thing("disk", size=5))
            qemu.add("/machine/peripheral/new/part", Thing("part", size=6))
            check(until(lambda: os.path.exists(new)), "it does not appear")
            below = f"{new}/part/size"
            check(until(lambda: problem(mount.read, below) == b"6\n"), f"below: {problem(mount.read, below)}")
            with open(f"{new}/size", "rb") as file:
                qemu.remove("/machine/peripheral/new")
                check(until(lambda: not os.path.exists(new)), "it stays")
                equal(file.read(), b"5\n", "an open file, when its object is gone")


@tests_for(KINDS, "{} bulk commands: an object that goes between two looks fails nothing else")
def vanishes(kind):
    with Scripted(bulk=KINDS[kind]) as qemu:
        for i in range(12):
            qemu.add(f"/objects/o{i:02}", Thing("thing", n=i))
        with mounted(qemu, ttl=2) as mount:
            mount.read("qom/.tree.json")
            qemu.remove("/objects/o05")
            time.sleep(2.2)
            tree = json.loads(mount.read("qom/objects/.tree.json"))
            names = [child["name"] for child in tree["children"]]
            equal(names, [f"o{i:02}" for i in range(12) if i != 5], "what is left")
            values = [p["value"] for child in tree["children"] for p in child["properties"] if p["name"] == "n"]
            equal(values, [i for i in range(12) if i != 5], "their values")


@test("statistics move: read anew from the start, and ENODEV when the disk is gone")
def statistics():
    def entry(count):
        return {"qdev": "/machine/peripheral/disk0/virtio-backend", "stats": {"wr_bytes": count}, "parent": {"stats": {"rd_bytes": 1}}}

    with Scripted() as qemu:
        qemu.replies["query-blockstats"] = [entry(10), {"device": "ide0", "stats": {}}, {"node-name": "n1", "stats": {}}]
        with mounted(qemu, ttl=0.05) as mount:
            equal(sorted(set(os.listdir(mount.file("blockstats"))) - {".tree.json"}), ["disk0", "ide0", "n1"], "disks")
            equal(mount.read("blockstats/disk0/parent/rd_bytes"), b"1\n", "below")
            fd = os.open(mount.file("blockstats/disk0/wr_bytes"), os.O_RDONLY)
            try:
                equal(os.pread(fd, 100, 0), b"10\n", "at first")
                qemu.replies["query-blockstats"] = [entry(2000)]
                check(until(lambda: os.pread(fd, 100, 0) == b"2000\n"), f"read anew: {os.pread(fd, 100, 0)}")
                equal(mount.read("blockstats/disk0/wr_bytes"), b"2000\n", "opened anew")
                qemu.replies["query-blockstats"] = []
                check(until(lambda: problem(os.pread, fd, 100, 0) == "ENODEV"), "it can be read when it is gone")
            finally:
                os.close(fd)
            # The kernel is told of names by another thread.
            check(until(lambda: not os.path.exists(mount.file("blockstats/disk0"))), "it is still there")


# ---- what goes wrong ----


@test("events before the greeting, and before each reply, are events")
def events():
    with Scripted() as qemu:
        qemu.event_first = True
        with mounted(qemu) as mount:
            equal(mount.read("qom/machine/n"), b"1\n", "a value")
            check(until(lambda: b"NIC_RX_FILTER_CHANGED" in mount.read("events")), "no event in the log")


@test("a target of 2011 that has no capabilities is enabled none, and read one by one")
def old():
    with Scripted(bulk=False, version=(2, 11, 0), capabilities=()) as qemu, mounted(qemu) as mount:
        equal(mount.read("qom/machine/n"), b"1\n", "a value")
        equal(mount.read("vm/version"), b"2.11.0\n", "its version")
        equal(qemu.asked("qmp_capabilities")[0].get("enable", []), [], "what was enabled")
        equal(qemu.asked("qom-list-get"), [], "bulk requests")


@tests_for(KINDS, "{} bulk commands: it dies in the middle of a reply, and is back")
def dies(kind):
    with Scripted(bulk=KINDS[kind]) as qemu, mounted(qemu) as mount:
        mount.read("qom/machine/n")
        qemu.break_at = ("qom-list-get" if KINDS[kind] else "qom-get", 20)
        ends = time.monotonic() + TTL + 5 * SLOW
        while time.monotonic() < ends:  # up to ttl old it may still be shown
            seconds, result = timed(mount.read, "qom/machine/n")
            check(seconds < TIMEOUT + AT_ONCE, f"it took {seconds} s")
            if result == "EIO":
                break
            equal(result, b"1\n", "while it dies")
        equal(result, "EIO", "a read when it has died")
        check(error_of(mount, "qom/machine/n"), "no reason")
        check("machine" in os.listdir(mount.file("qom")), "the tree is gone")
        check(until(lambda: mount.read("vm/connected") == b"false\n"), "vm/connected")
        check(mount.read("vm/stale-since") != b"\n", "vm/stale-since is empty")
        qemu.break_at = None
        qemu.objects["/machine"].values["n"] = 7
        qemu.listen()
        check(until(lambda: problem(mount.read, "qom/machine/n") == b"7\n"), "it does not come back")
        check(until(lambda: (mount.read("vm/connected"), mount.read("vm/stale-since")) == (b"true\n", b"\n")), "vm/")


@test("it stands still: one time-out, not one for each file; names at once; it goes on where it was")
def frozen():
    with Scripted() as qemu:
        entries = [{"qdev": f"d{i}", "stats": {f"c{j}": j for j in range(10)}} for i in range(10)]
        qemu.replies["query-blockstats"] = entries
        with mounted(qemu) as mount:
            files = [mount.file("blockstats", f"d{i}", f"c{j}") for i in range(10) for j in range(10)]
            equal(problem(lambda: open(files[0], "rb").read()), b"0\n", "a statistic")
            qemu.frozen.clear()
            time.sleep(1.5 * TTL)
            begin = time.monotonic()
            for path in files:
                equal(problem(lambda path=path: open(path, "rb").read()), "ETIMEDOUT", path)
            check(time.monotonic() - begin < 2 * TIMEOUT + AT_ONCE, f"all files: {time.monotonic() - begin} s")
            for command in (("ls", mount.file("qom/machine")), ("df", mount.path), ("ls", "-l", mount.file("blockstats"))):
                equal(prompt(run, *command).returncode, 0, command)
            equal(problem(mount.read, "qom/machine/n"), "ETIMEDOUT", "another file")
            check(until(lambda: mount.read("vm/connected") == b"false\n"), "vm/connected")
            check(timed(run, "timeout", "10", "grep", "-r", "x", mount.path)[0] < 10 * SLOW, "grep -r does not end")
            qemu.objects["/machine"].values["n"] = 8
            qemu.frozen.set()
            check(until(lambda: problem(mount.read, "qom/machine/n") == b"8\n"), "it does not go on")
            check(until(lambda: mount.read("vm/connected") == b"true\n"), "vm/connected")


@test("it stands still when its socket was let go of: a time-out too")
def frozen_released():
    with Scripted(bulk=False) as qemu, mounted(qemu, f"duty=100,release=0.2") as mount:
        mount.read("qom/machine/n")
        check(until(lambda: not qemu.peers or all(p.fileno() < 0 for p in qemu.peers)), "the socket is held")
        qemu.frozen.clear()
        time.sleep(1.5 * TTL)
        seconds, result = timed(mount.read, "qom/machine/n")
        equal(result, "ETIMEDOUT", "a read")
        check(seconds < 2 + TIMEOUT + AT_ONCE, f"it took {seconds} s")
        check(error_of(mount, "qom/machine/n"), "it does not say why")
        qemu.frozen.set()
        check(until(lambda: problem(mount.read, "qom/machine/n") == b"1\n"), "it does not go on")


@test("who does nothing but look at a name sees that its object goes, however long that takes")
def looks_at_a_name():
    with Scripted(bulk=False) as qemu:
        qemu.add("/machine/peripheral/disk0", Thing("disk", size=5))
        with mounted(qemu, f"duty=100,release=0.2") as mount:
            path = mount.file("qom/machine/peripheral/disk0")
            ends = time.monotonic() + 6 * TTL  # longer than a use lasts
            while time.monotonic() < ends:
                check(os.path.exists(path), "it is gone before")
                time.sleep(0.05)
            qemu.remove("/machine/peripheral/disk0")
            check(until(lambda: not os.path.exists(path)), "it stays")


@test("a reader that waits for a target that stands still ends at once when it is interrupted")
def interrupted():
    with Scripted() as qemu, Mount(qemu.path, options=f"ttl={TTL},timeout={60 * SLOW}") as mount:
        mount.read("qom/machine/n")
        qemu.frozen.clear()
        time.sleep(1.5 * TTL)
        seconds, result = timed(run, "timeout", "-s", "INT", "0.5", "cat", mount.file("qom/machine/n"))
        qemu.frozen.set()
        check(seconds < 20 * SLOW, f"it took {seconds} s")
        check(result.returncode != 0, "it did not fail")


class Slow(Scripted):
    """Each value takes its time."""

    def answer(self, command, arguments):
        if command == "qom-get":
            time.sleep(0.002)
        return super().answer(command, arguments)


@test("who wants a file does not wait for the whole tree that another reads, and that one gets it")
def nobody_starves():
    with Slow(bulk=False) as qemu:
        for i in range(100):
            qemu.add(f"/machine/peripheral/disk{i}", Thing("disk", **{f"p{n}": n for n in range(15)}))
        with mounted(qemu, ttl=60) as mount:
            trees = []
            reader = threading.Thread(target=lambda: trees.append(json.loads(mount.read("qom/.tree.json"))))
            reader.start()
            until(lambda: len(qemu.asked("qom-get")) > 50, 20)
            for i in (99, 98, 97):
                equal(mount.read(f"qom/machine/peripheral/disk{i}/p9"), b"9\n", f"a file of disk{i}")
            asked = len(qemu.asked("qom-get"))
            check(asked < 1000, f"a file waited for {asked} values")
            reader.join()
            equal(len(trees), 1, "whole trees read")
            equal(len(trees[0]["children"][0]["children"][0]["children"]), 100, "disks in the tree")
            qemu.forget()
            mount.read("qom/.tree.json")
            equal(qemu.asked("qom-get", "qom-list"), [], "what a second look within ttl asks for")


# ---- writing ----


@tests_for(KINDS, "{} bulk commands: written values are set, aliases follow, and the target's no is told")
def writes(kind):
    with Scripted(bulk=KINDS[kind]) as qemu:
        pci = qemu.add("/machine/peripheral/balloon0", Thing("balloon-pci", poll=0, fixed=1))
        device = qemu.add("/machine/peripheral/balloon0/virtio-backend", Thing("balloon", poll=0))
        with mounted(qemu, "duty=100,rw", ttl=30) as mount:
            equal(os.stat(mount.file("qom/machine/n")).st_mode & 0o777, 0o600, "its mode")
            outer, inner = (mount.file("qom/machine/peripheral/balloon0", p) for p in ("poll", "virtio-backend/poll"))
            equal((open(outer).read(), open(inner).read()), ("0\n", "0\n"), "at first")
            pci.values["poll"] = device.values["poll"] = 5  # what the set below does to both
            with open(outer, "w") as file:
                file.write("5\n")
            equal((open(outer).read(), open(inner).read()), ("5\n", "5\n"), "afterwards")
            equal(qemu.asked("qom-set"), [{"path": "/machine/peripheral/balloon0", "property": "poll", "value": 5}], "sent")
            fixed = mount.file("qom/machine/peripheral/balloon0/fixed")
            check(problem(lambda: os.write(os.open(fixed, os.O_WRONLY), b"3\n")) in ("EINVAL", "EACCES"), "a read-only one")
            check("is not writable" in error_of(mount, fixed), error_of(mount, fixed))
            equal(open(fixed).read(), "1\n", "its value")
            equal(problem(lambda: os.write(os.open(outer, os.O_WRONLY), b"x\n")), "EINVAL", "a bad value")
        with mounted(qemu) as mount:
            equal(os.stat(mount.file("qom/machine/n")).st_mode & 0o777, 0o400, "its mode without rw")
            equal(problem(os.open, mount.file("qom/machine/n"), os.O_WRONLY), "EROFS", "written without rw")


main()
