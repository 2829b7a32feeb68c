#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 240
"""The companion socket over a running QEMU: what the mount shows, read-only, from whatever the target can; and --share."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "qmp"))
from lib import Mount, check, check_message, equal, main, qomfs, scratch, skip, test, tests_for, until
from peer import Peer
from qemus import VERSIONS, Qemu

MACHINE = ["-nodefaults", "-machine", "q35", "-monitor", "none", "-device", "virtio-balloon,id=balloon0", "-object",
           "iothread,id=io0"]
# What moves apart, or differs from monitor to monitor.
MOVING = {"query-chardev", "query-stats"}


def connect(path):
    peer = Peer(path)
    peer.greeting = peer.greet()
    return peer


def socket_path():
    return os.path.join(scratch("qmp"), "s")


def each(name):
    return tests_for(VERSIONS or ["none"], name)


def started(version):
    if version not in VERSIONS:
        skip("no QEMU is installed")
    return Qemu(version, *MACHINE)


def all_paths(peer, path="/"):
    yield path
    for entry in peer.call("qom-list", path=path):
        if entry["type"].startswith("child<") and not entry["name"].startswith("qomfs-"):
            yield from all_paths(peer, path.rstrip("/") + "/" + entry["name"])


@each("QEMU {}: the socket answers what QEMU does")
def answers(version):
    with started(version) as target:
        with Mount(target.target, arguments=["--qmp=" + socket_path()], options="duty=100") as mount:
            ours, real = connect(os.readlink(mount.file("qmp"))), target.qmp
            equal(ours.call("query-version"), real.call("query-version"), "the version")
            commands = [entry["name"] for entry in ours.call("query-commands")]
            described = {entry["name"] for entry in ours.call("query-qmp-schema") if entry["meta-type"] == "command"}
            equal(described, set(commands), "the commands of the schema")
            queries = [name for name in commands if "query-" in name and name not in MOVING
                       and name not in ("query-commands", "query-qmp-schema")]
            check({"query-status", "query-name", "query-blockstats", "query-cpu-definitions"} <= set(queries), queries)
            for query in queries:
                got, wanted = ours.ask(query), real.ask(query)
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
                    one, other = (peer.ask("qom-get", path=path, property=item["name"]) for peer in (ours, real))
                    if item["name"] != "rtc-time":
                        equal(one.get("return"), other.get("return"), f"{path} {item['name']}")
            equal(ours.ask("qom-get", path="/none", property="x")["error"]["class"], "DeviceNotFound", "no such object")
            equal(ours.call("qom-tree-get", path="/objects"), json.loads(mount.read("qom", "objects", ".tree.json")), "tree")
            ours.close()


@each("QEMU {}: it is read-only, hears events, and sees what comes; with rw, qom-set")
def reading(version):
    with started(version) as target:
        with Mount(target.target, arguments=["--qmp=" + socket_path()]) as mount:
            ours, real = connect(os.readlink(mount.file("qmp"))), target.qmp
            for command in "stop", "quit", "qom-set", "object-add", "human-monitor-command":
                error = ours.ask(command)["error"]
                equal(error["class"], "CommandNotFound", command)
                check("--share" in error["desc"], error)
            ours.call("qom-get", path="/objects/io0", property="poll-grow")
            real.call("cont")
            real.call("stop")
            heard = lambda: ours.call("query-name") and [event["event"] for event in ours.events]  # noqa: E731
            check(until(lambda: {"STOP", "RESUME"} <= set(heard())), f"no events: {ours.events}")
            real.call("object-add", **{"qom-type": "iothread", "id": "late"})
            check(until(lambda: ours.ask("qom-list", path="/objects/late").get("return")), "what came is not seen")
            ours.close()
        with Mount(target.target, arguments=["--qmp=" + socket_path()], options="rw") as mount:
            ours, real = connect(os.readlink(mount.file("qmp"))), target.qmp
            ours.call("qom-set", path="/objects/io0", property="poll-grow", value=3)
            equal(real.call("qom-get", path="/objects/io0", property="poll-grow"), 3, "what QEMU has")
            equal(ours.call("qom-get", path="/objects/io0", property="poll-grow"), 3, "what we have")
            check("error" in ours.ask("qom-set", path="/objects/io0", property="poll-grow", value="x"), "a bad value")
            check("error" in ours.ask("qom-set", path="/objects/none", property="x", value=1), "no such object")
            ours.close()


@each("QEMU {}: QEMU dies and comes back; clients stay")
def returning(version):
    with started(version) as target:
        with Mount(target.target, arguments=["--qmp=" + socket_path()], options="ttl=0,timeout=2") as mount:
            ours = connect(os.readlink(mount.file("qmp")))
            get = lambda: ours.ask("qom-get", path="/objects/io0", property="poll-grow")  # noqa: E731
            before = get()
            check("return" in before, before)
            target.kill()
            check("error" in get(), "a dead one answers")
            target.start()
            check(until(lambda: get() == before), f"it does not come back: {get()}")
            ours.close()


@each("QEMU {}: --share")
def sharing(version):
    with started(version) as target:
        with Mount(target.target, arguments=["--share", "--qmp=" + socket_path()]) as mount:
            first, second = (connect(os.readlink(mount.file("qmp"))) for _ in range(2))
            first.call("object-add", **{"qom-type": "iothread", "id": "shared"})
            check("shared" in [entry["name"] for entry in second.call("qom-list", path="/objects")], "not the same VM")
            equal(first.ask("quit")["error"]["class"], "CommandNotFound", "quit")
            first.call("cont")
            second.call("query-name")
            first.call("stop")
            check(until(lambda: second.call("query-name") and "STOP" in [e["event"] for e in second.events]), "no event")
            check(until(lambda: b"STOP" in mount.read("events")), "no event in the log")
            check(until(lambda: "shared" in os.listdir(mount.file("qom", "objects"))), "the mount does not see it")
            first.close()
            second.close()
        real = target.qmp
        left = lambda: [entry["name"] for entry in real.call("qom-list", path="/objects")  # noqa: E731
                        if entry["name"].startswith("qomfs-")]
        check(until(lambda: not left()), f"left in QEMU: {left()}")


@test("--share without a running QEMU is wrong usage")
def usage():
    check_message(qomfs("--share", scratch("mount")), "--share", status=2)
    dump = os.path.join(os.environ["SOURCE"], "tests", "data", "qemu-7.2-pc.tree.json")
    check_message(qomfs("-o", "share=stop", dump, scratch("mount")), "--share", status=2)


main()
