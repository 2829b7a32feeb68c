#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 240
"""The companion socket over a running QEMU: what the mount shows, read-only, from whatever the target can; and --share."""

import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "qmp"))
from lib import Mount, check, check_message, equal, main, qomfs, scratch, skip, test, tests_for, until
from peer import Peer

FOUND = [p for p in [shutil.which("qemu-system-x86_64")] + sorted(glob.glob("/opt/qemu-11*/qemu-system-x86_64")) if p]
# What moves apart, or differs from monitor to monitor.
MOVING = {"query-chardev", "query-stats"}


class Qemu:
    """One with two sockets: `given` for the mount, `path` for whoever compares; in /tmp, which all of them see."""

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.TemporaryDirectory(prefix="qomfs-live-", dir="/tmp")
        self.given, self.path = (os.path.join(self.folder.name, name) for name in ("given", "own"))
        self.start()

    def start(self):
        command = [self.program, "-S", "-display", "none", "-nodefaults", "-machine", "q35", "-monitor", "none"]
        for path in self.given, self.path:
            command += ["-qmp", f"unix:{path},server=on,wait=off"]
        command += ["-device", "virtio-balloon,id=balloon0", "-object", "iothread,id=io0", "-name", "compared"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        check(until(lambda: os.path.exists(self.path), 30), "QEMU does not start")

    def pid(self):
        """It may have been started through a program that waits for it."""
        pid = self.process.pid
        while True:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                below = file.read().split()
            if not below:
                return pid
            pid = int(below[0])

    def kill(self):
        os.kill(self.pid(), signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.kill()
        self.folder.cleanup()


@contextlib.contextmanager
def qemu(program):
    target = Qemu(program)
    try:
        yield target
    finally:
        target.end()


def connect(path):
    peer = Peer(path)
    peer.greeting = peer.greet()
    return peer


def ask(peer, command, **arguments):
    """The whole reply: an error is an answer, too."""
    peer.send(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
    return peer.reply()


def socket_path():
    return os.path.join(scratch("qmp"), "s")


def each(name):
    return tests_for(FOUND, name) if FOUND else test(name + ", with any QEMU")


def program_of(program=None):
    return program or skip("no QEMU is installed")


def all_paths(peer, path="/"):
    yield path
    for entry in peer.call("qom-list", path=path):
        if entry["type"].startswith("child<") and not entry["name"].startswith("qomfs-"):
            yield from all_paths(peer, path.rstrip("/") + "/" + entry["name"])


@each("{}: the socket answers what QEMU does")
def answers(program=None):
    with qemu(program_of(program)) as target:
        with Mount(target.given, arguments=["--qmp=" + socket_path()], options="duty=100") as mount:
            ours, real = connect(os.readlink(mount.file("qmp"))), connect(target.path)
            equal(ours.call("query-version"), real.call("query-version"), "the version")
            commands = [entry["name"] for entry in ours.call("query-commands")]
            described = {entry["name"] for entry in ours.call("query-qmp-schema") if entry["meta-type"] == "command"}
            equal(described, set(commands), "the commands of the schema")
            queries = [name for name in commands if "query-" in name and name not in MOVING
                       and name not in ("query-commands", "query-qmp-schema")]
            check({"query-status", "query-name", "query-blockstats", "query-cpu-definitions"} <= set(queries), queries)
            for query in queries:
                got, wanted = ask(ours, query), ask(real, query)
                equal(got.get("return"), wanted.get("return"), query)
            paths = list(all_paths(real))
            got = ours.call("qom-list-get", paths=paths)
            still = [path for path in paths if path.startswith("/objects")]
            equal(ours.call("qom-list-getv", paths=still), [got[paths.index(path)] for path in still], "qom-list-getv")
            for path, entry in zip(paths, got):
                listed = {item["name"]: item["type"] for item in real.call("qom-list", path=path)
                          if not item["name"].startswith("qomfs-")}
                seen = {item["name"]: item["type"] for item in entry["properties"] if not item["name"].startswith("qomfs-")}
                equal(seen, listed, path)
            for path in "/machine/peripheral/balloon0", "/objects/io0", "/machine":
                for item in ours.call("qom-list", path=path):
                    one, other = (ask(peer, "qom-get", path=path, property=item["name"]) for peer in (ours, real))
                    if item["name"] != "rtc-time":
                        equal(one.get("return"), other.get("return"), f"{path} {item['name']}")
            equal(ask(ours, "qom-get", path="/none", property="x")["error"]["class"], "DeviceNotFound", "no such object")
            equal(ours.call("qom-tree-get", path="/objects"), json.loads(mount.read("qom", "objects", ".tree.json")), "tree")
            ours.close()
            real.close()


@each("{}: it is read-only, hears events, and sees what comes; with rw, qom-set")
def reading(program=None):
    with qemu(program_of(program)) as target:
        with Mount(target.given, arguments=["--qmp=" + socket_path()]) as mount:
            ours, real = connect(os.readlink(mount.file("qmp"))), connect(target.path)
            for command in "stop", "quit", "qom-set", "object-add", "human-monitor-command":
                error = ask(ours, command)["error"]
                equal(error["class"], "CommandNotFound", command)
                check("--share" in error["desc"], error)
            ours.call("qom-get", path="/objects/io0", property="poll-grow")
            real.call("cont")
            real.call("stop")
            heard = lambda: ours.call("query-name") and [event["event"] for event in ours.events]  # noqa: E731
            check(until(lambda: {"STOP", "RESUME"} <= set(heard())), f"no events: {ours.events}")
            real.call("object-add", **{"qom-type": "iothread", "id": "late"})
            check(until(lambda: ask(ours, "qom-list", path="/objects/late").get("return"), 5), "what came is not seen")
            ours.close()
            real.close()
        with Mount(target.given, arguments=["--qmp=" + socket_path()], options="rw") as mount:
            ours, real = connect(os.readlink(mount.file("qmp"))), connect(target.path)
            ours.call("qom-set", path="/objects/io0", property="poll-grow", value=3)
            equal(real.call("qom-get", path="/objects/io0", property="poll-grow"), 3, "what QEMU has")
            equal(ours.call("qom-get", path="/objects/io0", property="poll-grow"), 3, "what we have")
            check("error" in ask(ours, "qom-set", path="/objects/io0", property="poll-grow", value="x"), "a bad value")
            check("error" in ask(ours, "qom-set", path="/objects/none", property="x", value=1), "no such object")
            ours.close()
            real.close()


@each("{}: QEMU dies and comes back; clients stay")
def returning(program=None):
    with qemu(program_of(program)) as target:
        with Mount(target.given, arguments=["--qmp=" + socket_path()], options="ttl=0,timeout=2") as mount:
            ours = connect(os.readlink(mount.file("qmp")))
            get = lambda: ask(ours, "qom-get", path="/objects/io0", property="poll-grow")  # noqa: E731
            before = get()
            check("return" in before, before)
            target.kill()
            check("error" in get(), "a dead one answers")
            target.start()
            check(until(lambda: get() == before), f"it does not come back: {get()}")
            ours.close()


@each("{}: --share")
def sharing(program=None):
    with qemu(program_of(program)) as target:
        with Mount(target.given, arguments=["--share", "--qmp=" + socket_path()]) as mount:
            first, second = (connect(os.readlink(mount.file("qmp"))) for _ in range(2))
            first.call("object-add", **{"qom-type": "iothread", "id": "shared"})
            check("shared" in [entry["name"] for entry in second.call("qom-list", path="/objects")], "not the same VM")
            equal(ask(first, "quit")["error"]["class"], "CommandNotFound", "quit")
            first.call("cont")
            second.call("query-name")
            first.call("stop")
            check(until(lambda: second.call("query-name") and "STOP" in [e["event"] for e in second.events]), "no event")
            check(b"STOP" in mount.read("events"), "no event in the log")
            check(until(lambda: "shared" in os.listdir(mount.file("qom", "objects"))), "the mount does not see it")
            first.close()
            second.close()
        real = connect(target.path)
        left = lambda: [entry["name"] for entry in real.call("qom-list", path="/objects")  # noqa: E731
                        if entry["name"].startswith("qomfs-")]
        check(until(lambda: not left()), f"left in QEMU: {left()}")
        real.close()


@test("--share without a running QEMU is wrong usage")
def usage():
    check_message(qomfs("--share", scratch("mount")), "--share", status=2)
    dump = os.path.join(os.environ["SOURCE"], "tests", "data", "qemu-7.2-pc.tree.json")
    check_message(qomfs("-o", "share=stop", dump, scratch("mount")), "--share", status=2)


main()
