#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 400
# slow
"""A running QEMU, mounted: everything agrees with what it says on a second monitor."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import KIND, Mount, check, equal, main, none, skip, tests_for
from qemus import RICH, VERSIONS, Qemu

# What moves between two looks at it.
MOVING = {"/machine/rtc-time", "date"}
# Nothing changes, and nothing need be looked at again.
OPTIONS = "duty=100,ttl=60"
MACHINES = {"default": [], "rich": RICH}


def as_file(value):
    return (value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))) + "\n"


def same_json(text, value):
    try:
        return json.loads(text) == value
    except ValueError:
        return False


def link_problem(mount, file, value):
    if not os.path.islink(file):
        return "is no link"
    wanted = os.path.realpath(mount.file("qom", *value.strip("/").split("/")))
    got = os.path.realpath(file)
    return None if got == wanted and os.path.isdir(got) else f"leads to {got}, not {wanted}"


def error_problem(file, reason):
    try:
        open(file, "rb").close()
        return "can be opened"
    except OSError as error:
        said = os.getxattr(file, "user.qom.error").decode()
        return None if (error.errno, said) == (5, reason) else f"{error}: {said!r}, not {reason!r}"


def secret_problem(file):
    try:
        open(file, "rb").close()
        return "a secret can be opened"
    except PermissionError:
        return None


def value_problem(file, name, value):
    with open(file) as opened:
        text = opened.read()
        size = os.fstat(opened.fileno()).st_size
    if name in MOVING or text == as_file(value) or same_json(text, value):
        return None if size == len(text.encode()) else f"{size} bytes, it says, of {len(text)}"
    return f"{text[:100]!r}, not {as_file(value)[:100]!r}"


def problems_of(qemu, mount, path=""):
    """Compares an object and all below; yields (name, what is wrong or None) for each property."""
    folder = mount.file("qom", *path.strip("/").split("/")) if path else mount.file("qom")
    entries = qemu.qmp.call("qom-list", path=path or "/")
    names = set(os.listdir(folder)) - {".tree.json"}
    ours = {name for name in names if name.startswith("qomfs-")}
    if names - ours != {entry["name"] for entry in entries if not entry["name"].startswith("qomfs-")}:
        yield path, f"other names: {names ^ {entry['name'] for entry in entries}}"
    object_type = next(entry for entry in entries if entry["name"] == "type") and \
        qemu.qmp.call("qom-get", path=path or "/", property="type")
    entries = [entry for entry in entries if not entry["name"].startswith("qomfs-")]
    for entry in entries:
        if entry["type"].startswith("child<"):
            yield from problems_of(qemu, mount, f"{path}/{entry['name']}")
    properties = [entry for entry in entries if not entry["type"].startswith("child<")]
    replies = qemu.qmp.ask_each("qom-get", [{"path": path or "/", "property": entry["name"]} for entry in properties])
    for entry, reply in zip(properties, replies):
        name = entry["name"]
        file = os.path.join(folder, name)
        key = f"{path}/{name}"
        if object_type == "secret" and name == "data":
            yield key, secret_problem(file)
        elif "error" in reply:
            yield key, error_problem(file, reply["error"]["desc"])
        elif entry["type"].startswith("link<") and reply["return"]:
            yield key, link_problem(mount, file, reply["return"])
        else:
            yield key, value_problem(file, key if key in MOVING else name, reply["return"])


def combinations():
    """The rich machine of each, and the default one of the newest, which has nothing that a sanitizer has not seen then."""
    rich = [f"{version}, rich machine" for version in VERSIONS]
    return rich + ([f"{VERSIONS[-1]}, default machine"] if VERSIONS and KIND == "plain" else [])


def started(combination):
    version, machine = combination.split(", ")
    return Qemu(version, *MACHINES[machine.split()[0]])


@tests_for(combinations() or ["none"], "QEMU {}: each property, link, statistic, query, CPU definition")
def everything(combination):
    if not VERSIONS:
        skip("no QEMU is installed")
    with started(combination) as qemu, Mount(qemu.target, options=OPTIONS, arguments=["--qmp=none"]) as mount:
        results = list(problems_of(qemu, mount))
        none([f"{name}: {what}" for name, what in results if what], "what QEMU says and the mount shows")
        check(len(results) > 1500, f"only {len(results)} properties")
        definitions = json.loads(mount.read("cpu-definitions", ".tree.json"))
        equal(sorted(definitions, key=lambda d: d["name"]),
              sorted(qemu.qmp.call("query-cpu-definitions"), key=lambda d: d["name"]), "the CPU definitions")
        for definition in definitions:
            equal(mount.read("cpu-definitions", definition["name"], "typename").decode(),
                  definition["typename"] + "\n", definition["name"])
        stats = qemu.qmp.call("query-blockstats")
        shown = json.loads(mount.read("blockstats", ".tree.json"))
        for entry in stats + shown:
            entry["stats"].pop("idle_time_ns", None)
        equal(shown, stats, "the block statistics")
        queries = [name for name in os.listdir(mount.file("query"))]
        check(len(queries) > 40, f"only {len(queries)} queries")
        for name in queries:
            reply = qemu.qmp.ask("query-" + name.removesuffix(".json"))
            if "error" in reply:
                equal(error_problem(mount.file("query", name), reply["error"]["desc"]), None, name)
            elif name != "mice.json":
                equal(type(json.loads(mount.read("query", name))), type(reply["return"]), name)
        equal(json.loads(mount.read("query", "status.json")), qemu.qmp.call("query-status"), "query/status.json")
        tree = json.loads(mount.read(".tree.json"))
        equal(set(tree), {"qom", "cpu-definitions", "blockstats", "vm"}, "the root's members")
        equal(mount.read("vm", "name"), b"live-vm\n", "vm/name")
        check(b"swordfish" not in mount.read(".tree.json"), "a secret is in .tree.json")


main()
