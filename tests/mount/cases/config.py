#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 180
# builds: plain
"""The configuration of the built-in VM: --print-config prints what would be mounted, the options go before the file, and
docs/vm-config.schema.json and the program agree on what is right."""

import copy
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, SOURCE, check, check_message, equal, main, qomfs, recorded, scratch, skip, test, tests_for
from lib import write_file

EXAMPLES = sorted(glob.glob(os.path.join(SOURCE, "examples", "vm-*.json")))
SCHEMA = os.path.join(SOURCE, "docs", "vm-config.schema.json")

# Every member that there is.
FULL = {
    "name": "vm\u00e9", "uuid": "0000000A-0000-0000-0000-00000000000b", "machine": "pc-q35-11.1",
    "cpus": {"count": 8, "model": "EPYC", "sockets": 2, "dies": 1, "modules": 1, "cores": 2, "threads": 2},
    "memory": "2g",
    "iothreads": ["t"],
    "disks": [{"id": "a", "size": 1024, "iothread": "t", "serial": "s"}, {"id": "b", "file": "/nonexistent", "direct": True}],
    "nics": [{"id": "n.1-_", "mac": "52:54:00:12:34:5F"}],
    "objects": [{"qom-type": "rng-random", "id": "r"}],
    "blockdevs": [{"driver": "null-co", "node-name": "d", "size": 1048576}],
    "chardevs": [{"id": "c", "backend": {"type": "null", "data": {}}}],
    "netdevs": [{"type": "user", "id": "u"}],
    "serial": "c",
    "devices": [{"driver": "virtio-rng-pci", "rng": "r"}],
    "faults": [{"id": "f", "command": "stop", "do": "error", "after": 1, "times": 2, "ms": 3, "bytes": 4, "class": "GenericError",
                "desc": "no"}],
    "qmp": {"version": "2.11.0", "capabilities": ["oob"], "without": ["stop"], "exclusive": True},
    "root-ports": 0,
    "paused": True,
}


def printed(*arguments):
    result = qomfs("--print-config", *arguments)
    equal((result.returncode, result.stderr), (0, b""), f"--print-config {' '.join(arguments)}")
    return result.stdout


# ---- --print-config, and the options ----

MOVING = {"rtc-time", "date", "thread-id", "thread_id", "tid", "fd"}


def still(tree):
    """A tree without what is another one in each process."""
    tree["properties"] = [prop for prop in tree["properties"] if prop["name"] not in MOVING]
    for child in tree["children"]:
        still(child)
    return tree


def tree_of(*arguments):
    with Mount(*arguments) as mount:
        return still(json.loads(mount.read("qom", ".tree.json")))


@tests_for([None, *EXAMPLES], "what is printed is mounted as the same: {}", )
def same(path):
    source = [path] if path else []
    text = printed(*source)
    copied = write_file(text, "printed.json")
    equal(printed(copied), text, "printed once more")
    if path and path.endswith("500-disks.json"):
        return  # it takes longest, and has nothing that the others lack
    equal(tree_of(copied), tree_of(*(source or ["model"])), "the tree")


@test("the options go before the file")
def options():
    config = json.loads(printed("--cpus=6", "-o", "cpu=EPYC,memory=3G", "--disks=2", "--nics=0", EXAMPLES[-1]))
    equal((config["cpus"]["count"], config["cpus"]["cores"], config["cpus"]["model"]), (6, 6, "EPYC"), "the CPUs")
    equal(config["memory"], 3 << 30, "the memory")
    equal([disk["id"] for disk in config["disks"]], ["disk0", "disk1"], "the disks")
    equal(config["nics"], [], "the cards")
    with Mount("model", arguments=["--cpus=2", "--memory=1G", "--disks=3", "--nics=2"]) as mount:
        equal(sorted(set(os.listdir(mount.file("blockstats"))) - {".tree.json"}), ["disk0", "disk1", "disk2"], "its disks")
        check({"nic0", "nic1"} < set(os.listdir(mount.file("qom/machine/peripheral"))), "its cards")
        equal(json.loads(mount.read("qom/machine/smp"))["cpus"], 2, "its CPUs")
        equal(mount.read("qom/objects/pc.ram/size") if os.path.exists(mount.file("qom/objects/pc.ram")) else b"1073741824\n",
              b"1073741824\n", "its memory")


WRONG = {
    "--cpus=0": "option 'cpus': cpus.count: must be from 1 to 4096, not 0",
    "--cpus=1}": "option 'cpus': must be a whole number, not '1}'",
    "--memory=7": "option 'memory': memory: must be from 1048576 to 17592186044416, not \"7\"",
    "--memory=1X": "option 'memory': memory: must be bytes",
    "--disks=1025": "option 'disks': must be from 0 to 1024, not '1025'",
    "--nics=-1": "option 'nics': must be from 0 to 1024, not '-1'",
}


@tests_for(WRONG, "{} is refused")
def wrong_option(option):
    check_message(qomfs("--print-config", option), WRONG[option])
    check_message(qomfs(option, scratch("m")), WRONG[option])


@test("what is no built-in VM has no configuration")
def others():
    dump = recorded("qemu-7.2-pc")
    check_message(qomfs("--print-config", dump), f"'{dump}' is a dump, which has no configuration", 2)
    check_message(qomfs("--cpus=2", dump, scratch("m")), f"option 'cpus': '{dump}' is a dump, not the built-in VM", 2)
    check_message(qomfs("--print-config", "/nonexistent"), "cannot read '/nonexistent': No such file or directory")


# ---- the schema ----

def validator():
    sys.path.append("/usr/lib/python3/dist-packages")  # Debian's, whichever Python this is
    try:
        import jsonschema
    except ImportError:
        skip("python3-jsonschema is missing")
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema, jsonschema.Draft202012Validator(schema)


def refused(config):
    """Why qomfs does not take it, or None."""
    path = write_file(json.dumps(config).encode(), "config.json")
    result = qomfs("--print-config", path)
    return result.stderr.decode() if result.returncode else None


@test("every example, and what is printed of it, is right by the schema")
def examples_are_right():
    _, right = validator()
    for path in EXAMPLES:
        with open(path, encoding="utf-8") as file:
            right.validate(json.load(file))
        right.validate(json.loads(printed(path)))
    right.validate(json.loads(printed()))


def schemas_below(schema, config, path=()):
    """(path, schema) of every value of the configuration; a member of the schema that it lacks is an error."""
    yield path, schema
    items = schema.get("items", {})
    if isinstance(config, list) and "properties" in items:
        seen = set().union(*config)
        equal(seen, set(items["properties"]), f"members of {path}")
        for number, element in enumerate(config):
            for name, value in element.items():
                yield from schemas_below(items["properties"][name], value, (*path, number, name))
    elif isinstance(config, dict) and "properties" in schema:
        equal(set(config), set(schema["properties"]), f"members of {path}")
        for name, value in config.items():
            yield from schemas_below(schema["properties"][name], value, (*path, name))


def with_value(path, value):
    config = copy.deepcopy(FULL)
    place = config
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return config


@test("the schema and qomfs know the same members, kinds, ranges and patterns")
def agree():
    schema, right = validator()
    right.validate(FULL)
    equal(refused(FULL), None, "with every member")
    for path, part in schemas_below(schema, FULL):
        if not path or "faults" in path[:-1]:  # what a fault has is checked when it is made
            continue
        part = {**schema["$defs"].get(part.get("$ref", "").rpartition("/")[2], {}), **part}
        values = [None, 1.5, -1, "", "\0", "1%", [1], {"nosuch": 1}, True, 10 ** 20]
        values += [part[end] + step for end in ("minimum", "maximum") if end in part for step in (-1, 0, 1)]
        for value in values:
            config = with_value(path, value)
            if path[0] == "cpus" and path[-1] != "model":
                config["cpus"] = {path[-1]: value}  # alone, so that the topology does not contradict it
                if path[-1] != "count" and isinstance(value, int) and value > 0:
                    config["cpus"]["count"] = value
            if path[-1] == "iothread":
                config["iothreads"] = [value] if isinstance(value, str) else ["t"]
            why = refused(config)
            equal(why is None, right.is_valid(config), f"{'.'.join(map(str, path))} = {value!r}: {why}")


BAD = {
    "an unknown member": {"nosuch": 1},
    "an unknown member of a disk": {"disks": [{"id": "a", "nosuch": 1}]},
    "a disk without id": {"disks": [{}]},
    "a size beside a file": {"disks": [{"id": "a", "file": "/x", "size": 512}]},
    "direct without a file": {"disks": [{"id": "a", "direct": True}]},
    "an iothread twice": {"iothreads": ["a", "a"]},
    "no object": [],
}


@tests_for(BAD, "both refuse {}")
def bad(name):
    _, right = validator()
    check(not right.is_valid(BAD[name]), "the schema takes it")
    why = refused(BAD[name])
    check(why, "qomfs takes it")
    check(": 1:" in why, f"no line and column: {why}")


main()
