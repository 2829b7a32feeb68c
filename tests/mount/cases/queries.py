#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""query/: a file for each query that takes no argument, which holds what the socket returns, or says why it fails."""

import errno
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "qmp"))
from lib import Mount, check, equal, main, none, read_file, recorded, run, scratch, test, write_file
from peer import Peer

# What views of their own show; and what describes the protocol, at length.
ELSEWHERE = {"query-cpu-definitions", "query-blockstats", "query-qmp-schema"}


def socket_path():
    return os.path.join(scratch("qmp"), "s")


def connect(mount):
    peer = Peer(os.readlink(mount.file("qmp")))
    peer.greet()
    return peer


def answer(peer, command):
    """(return value, None), or (None, description)."""
    peer.send(json.dumps({"execute": command}).encode())
    reply = peer.reply()
    return (reply["return"], None) if "return" in reply else (None, reply["error"]["desc"])


def without_arguments(peer):
    """All queries that can be asked without an argument, as the schema says."""
    schema = {entry["name"]: entry for entry in peer.call("query-qmp-schema")}
    return {name for name, entry in schema.items()
            if entry["meta-type"] == "command" and name.startswith("query-")
            and all("default" in member for member in schema[entry["arg-type"]]["members"])}


def error_of(path):
    return os.getxattr(path, "user.qom.error").decode()


def unreadable(path):
    try:
        return read_file(path)
    except OSError as error:
        return errno.errorcode[error.errno]


@test("each query is a file, with what the socket returns and a newline; one that fails is EIO, and says why")
def files():
    with Mount(arguments=["--qmp=" + socket_path()]) as mount:
        peer = connect(mount)
        wanted = {command[len("query-"):] + ".json": command for command in without_arguments(peer) - ELSEWHERE}
        equal(sorted(os.listdir(mount.file("query"))), sorted(wanted), "the files")
        check(len(wanted) > 50, f"only {len(wanted)} queries")
        problems, failing = [], 0
        for name, command in wanted.items():
            value, error = answer(peer, command)
            path = mount.file("query", name)
            status = os.stat(path)
            if error is not None:
                failing += 1
                if unreadable(path) != "EIO" or error_of(path) != error:
                    problems.append(f"{name}: {unreadable(path)!r}, not EIO because {error}")
                continue
            content = read_file(path)
            compact = json.dumps(json.loads(content), separators=(",", ":")).encode() + b"\n"
            if json.loads(content) != value or compact != content or status.st_size != len(content):
                problems.append(f"{name}: {content[:200]!r} of {status.st_size} bytes, not {value}")
            if "user.qom.error" in os.listxattr(path):
                problems.append(f"{name}: has an error, {error_of(path)}")
            if status.st_mode & 0o7777 != 0o444:
                problems.append(f"{name}: mode {status.st_mode:o}")
        none(problems, "files")
        check(3 < failing < 20, f"{failing} fail")
        numbers = {os.stat(mount.file("query", name)).st_ino for name in wanted}
        equal(len(numbers), len(wanted), "inode numbers")
        peer.close()


@test("they stand in no .tree.json, and have none; writing is refused; tools that recurse read all")
def alone():
    with Mount() as mount:
        folder = mount.file("query")
        equal(unreadable(os.path.join(folder, ".tree.json")), "ENOENT", ".tree.json")
        equal(list(json.loads(mount.read(".tree.json"))), ["qom", "cpu-definitions", "blockstats", "vm"], "the root's")
        equal(os.stat(folder).st_nlink, 2, "links of the directory")
        for name in ("status.json", "kvm.json"):
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
                check(False, f"{name} can be opened for writing")
            except OSError as error:
                equal(errno.errorcode[error.errno], "EACCES", name)
        done = run("grep", "-rc", "x86_64", folder)
        check(b"target.json:1" in done.stdout, f"grep: {done.stdout!r}")
        equal(run("find", folder, "-name", "status.json", "-size", "36c").stdout.count(b"\n"), 1, "find -size")
        copy = scratch("copy")
        done = run("cp", os.path.join(folder, "pci.json"), os.path.join(folder, "machines.json"), copy)
        equal((done.returncode, read_file(os.path.join(copy, "pci.json"))), (0, mount.read("query", "pci.json")), "cp")


@test("each open asks anew, and so does a second read from the start; what cannot be answered now may be later")
def anew():
    with Mount(arguments=["--qmp=" + socket_path()]) as mount:
        peer = connect(mount)
        with open(mount.file("query", "status.json"), "rb", buffering=0) as status:
            check(json.loads(status.read())["running"], "it does not run")
            peer.call("stop")
            status.seek(0)
            equal(json.loads(status.read()), {"status": "paused", "running": False}, "read from the start again")
        equal(json.loads(mount.read("query", "status.json"))["status"], "paused", "the next open")
        peer.call("object-add", qom_type="iothread", id="more")
        equal([one["id"] for one in json.loads(mount.read("query", "iothreads.json"))], ["iothread0", "more"], "iothreads")
        balloon = mount.file("query", "balloon.json")
        equal(unreadable(balloon), "EIO", "without a balloon")
        equal(error_of(balloon), "No balloon device has been activated", "why")
        peer.call("object-add", **{"qom-type": "memory-backend-ram", "id": "ram1", "size": 1 << 20})
        equal({one["id"]: one["size"] for one in json.loads(mount.read("query", "memdev.json"))},
              {"pc.ram": 512 << 20, "ram1": 1 << 20}, "memory")
        peer.call("device_add", driver="virtio-net-pci", id="nic9", bus="rp0", mac="52:54:00:00:00:09")
        equal({one["name"]: one["main-mac"] for one in json.loads(mount.read("query", "rx-filter.json"))},
              {"nic0": "52:54:00:12:34:56", "nic9": "52:54:00:00:00:09"}, "cards")
        peer.close()


@test("CPUs and memory are those of the configuration")
def configured():
    config = {"cpus": {"count": 8, "sockets": 2, "dies": 2, "threads": 2, "model": "EPYC-Genoa"}, "memory": "1G"}
    with Mount(write_file(json.dumps(config), "vm.json")) as mount:
        cpus = json.loads(mount.read("query", "cpus-fast.json"))
        equal([cpu["cpu-index"] for cpu in cpus], list(range(8)), "indexes")
        equal({tuple(sorted(cpu["props"])) for cpu in cpus}, {("core-id", "die-id", "socket-id", "thread-id")}, "props")
        equal(len({tuple(sorted(cpu["props"].items())) for cpu in cpus}), 8, "different places")
        slots = json.loads(mount.read("query", "hotpluggable-cpus.json"))
        equal([(slot["qom-path"], slot["props"]) for slot in reversed(slots)],
              [(cpu["qom-path"], cpu["props"]) for cpu in cpus], "places")
        equal({slot["type"] for slot in slots}, {"EPYC-Genoa-x86_64-cpu"}, "type")
        equal(len(json.loads(mount.read("query", "acpi-ospm-status.json"))), 8, "what ACPI sees")
        equal(json.loads(mount.read("query", "memory-size-summary.json")),
              {"base-memory": 1 << 30, "plugged-memory": 0}, "memory")
        devices = json.loads(mount.read("query", "pci.json"))[0]["devices"]
        places = [(device["slot"], device["function"]) for device in devices]
        equal(places, sorted(places), "places on the bus")
        ids = {device["qdev_id"] for device in devices} - {""}
        on_bus = {name for name in os.listdir(mount.file("qom", "machine", "peripheral"))
                  if os.path.isdir(mount.file("qom", "machine", "peripheral", name))}
        equal(ids, on_bus, "devices with an id")


@test("a dump has no queries: an empty directory, and no command")
def of_a_dump():
    with Mount(recorded("qemu-7.2-pc"), arguments=["--qmp=" + socket_path()]) as mount:
        equal(os.listdir(mount.file("query")), [], "files")
        peer = connect(mount)
        for command in ("query-pci", "query-kvm", "query-memdev"):
            equal(answer(peer, command), (None, f"there is no command '{command}'"), command)
        peer.close()


main()
