#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""Names that no file can have, or that few files have: each is there, alone, under a file name that can be undone, and
.tree.json shows the original.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from expected import file_name, objects, parse
from lib import Mount, check, check_tree, equal, kind_of, main, obj, prop, read_file, run, test, write_file

# name -> file name
ESCAPED = {
    "a/b": b"a%2Fb",
    "/": b"%2F",
    "a/../b": b"a%2F..%2Fb",
    "..": b"%2E%2E",
    ".": b"%2E",
    "": b"%",
    "%": b"%25",
    "nul\0byte": b"nul%00byte",
    "\0": b"%00",
    ".tree.json": b"%2Etree.json",
    "%2F": b"%252F",
    "%2f": b"%252f",
    "%2E": b"%252E",
    "%2Etree.json": b"%252Etree.json",
    "%00": b"%2500",
    "%25": b"%2525",
    "%2525": b"%252525",
    "%%41": b"%%2541",
    "%~0123456789abcdef": b"%25~0123456789abcdef",
    "a%~0123456789abcdef": b"a%25~0123456789abcdef",
}
# names that are shown as they are
PLAIN = ["a b", " ", "  leading", "trailing ", "...", ".hidden", "..a", "-rf", "--help", "-", "~", "*", "?", "[0]",
         "a\\b", "\\x2f", "device[0]", "#", "'", '"', "`id`", "$HOME", "a\nb", "\n", "tab\there", "\x1b[31mred", "\x01",
         "\x7f", "ü", "日本語", "\U0001f600", "é", "e\u0301", "\u202egnp", "100%", "%zz", "%2", "a%", "%~",
         "%~0123456789abcde", "%~0123456789abcdefg", ".tree.json2", "a.tree.json", "tree.json", "user.qom.type", "CON",
         "n" * 255, "x" * 254 + "%", "value=1", "a:b"]


def tree_of(names):
    """A tree that has each name as a property and, in another object, as a child."""
    properties = [prop(name, json.dumps(f"value of {name}")) for name in names]
    children = [obj(name, kind_of("container"), prop("number", str(i), "int")) for i, name in enumerate(names)]
    return obj("/", kind_of("container"), children=[obj("properties", *properties), obj("children", children=children)])


def mount_names(names):
    return write_file(tree_of(names) + "\n")


@test("names that cannot be file names are escaped as documented")
def escaped():
    with Mount(mount_names(list(ESCAPED))) as mount:
        for where in ("properties", "children"):
            found = os.listdir(os.fsencode(mount.file("qom", where)))
            equal(sorted(found), sorted([*ESCAPED.values(), b".tree.json"]), where)
        for name, shown in ESCAPED.items():
            wanted = f"value of {name}\n".encode()
            equal(read_file(os.path.join(os.fsencode(mount.file("qom", "properties")), shown)), wanted, repr(name))


@test("all other names are shown verbatim")
def plain():
    with Mount(mount_names(PLAIN)) as mount:
        for where in ("properties", "children"):
            found = os.listdir(os.fsencode(mount.file("qom", where)))
            equal(sorted(found), sorted([*(name.encode() for name in PLAIN), b".tree.json"]), where)


@test("each is distinct, reachable, exact, and .tree.json shows the original")
def all_together():
    names = list(ESCAPED) + PLAIN
    dump = mount_names(names)
    with Mount(dump) as mount:
        result = check_tree(dump, mount)
        check(result.counts["values"] == 3 * len(names) + 1, "not all were compared")
        saved = json.loads(mount.read("qom", ".tree.json"))
        equal([info["name"] for info in saved["children"][0]["properties"]], names, "names in the JSON")
        equal([child["name"] for child in saved["children"][1]["children"]], names, "names in the JSON")
        for name in names:
            path = os.path.join(os.fsencode(mount.file("qom", "children")), file_name(name))
            equal(json.loads(read_file(os.path.join(path, b".tree.json")))["name"], name, "the name in its own JSON")


@test("names of more than 255 bytes are shortened, distinct, valid UTF-8, and whole in user.qom.name and the JSON")
def long_names():
    names = ["n" * 300, "n" * 299 + "m", "n" * 255, "n" * 256, "é" * 200, "日" * 90, "\U0001f600" * 70, "/" * 100,
             "/" * 85, "x" * 60000, "a" + "\0" * 300]
    dump = mount_names(names)
    with Mount(dump) as mount:
        for where in ("properties", "children"):
            folder = os.fsencode(mount.file("qom", where))
            shown = [name for name in os.listdir(folder) if name != b".tree.json"]
            equal((len(shown), len(set(shown))), (len(names), len(names)), f"names in {where}/")
            found = []
            for name in shown:
                check(len(name) <= 255, f"{len(name)} bytes")
                name.decode("utf-8", "strict")
                path = os.path.join(folder, name)
                if name in map(file_name, names):
                    found.append(next(n for n in names if file_name(n) == name))
                    continue
                check(re.search(rb"%~[0-9a-fA-F]{16}$", name), f"{name!r} does not end in a hash")
                found.append(os.getxattr(path, b"user.qom.name").decode())
                check(b"user.qom.name" in map(os.fsencode, os.listxattr(path)), "user.qom.name is not listed")
                if where == "properties":
                    equal(read_file(path), f"value of {found[-1]}\n".encode(), "the value")
                else:
                    equal(json.loads(read_file(os.path.join(path, b".tree.json")))["name"], found[-1], "the JSON")
            equal(sorted(found), sorted(names), "the whole names")
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON of all")


@test("a name too long for an extended attribute")
def too_long_for_attribute():
    dump = mount_names(["x" * 100000, "after"])
    with Mount(dump) as mount:
        for where in ("properties", "children"):
            equal(len(os.listdir(mount.file("qom", where))), 3, f"names in {where}/")
        equal(mount.read("qom", "properties", "after"), b"value of after\n", "the next one")
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON of all")
        equal(run("getfattr", "-Rd", "-m", "-", mount.file("qom", "children")).returncode, 0, "getfattr's status")


@test("a shortened name is the same in the next mount, and a property that has that very name is not taken for it")
def shortened_name_taken():
    with Mount(mount_names(["n" * 300])) as mount:
        (short,) = (name for name in os.listdir(mount.file("qom", "properties")) if name != ".tree.json")
    for names in (["n" * 300, short], [short, "n" * 300]):
        dump = mount_names(names)
        with Mount(dump) as mount:
            shown = {name for name in os.listdir(mount.file("qom", "properties")) if name != ".tree.json"}
            equal(len(shown), 2, "names that are shown")
            check(short in shown, "the shortened name has changed")
            values = {mount.read("qom", "properties", name) for name in shown}
            equal(values, {f"value of {name}\n".encode() for name in names}, "the values")
            equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON")


@test("links to objects with such names lead there")
def links():
    names = [name for name in (*ESCAPED, *PLAIN) if name and "/" not in name]
    targets = [prop(f"to {i}", json.dumps(f"/children/{name}"), "link<container>") for i, name in enumerate(names)]
    children = [obj(name, kind_of("container")) for name in names]
    tree = obj("/", children=[obj("links", *targets), obj("children", children=children)])
    dump = write_file(tree + "\n")
    with Mount(dump) as mount:
        for number, name in enumerate(names):
            link = os.fsencode(mount.file("qom", "links", f"to {number}"))
            wanted = os.path.join(os.fsencode(mount.file("qom", "children")), file_name(name))
            equal(os.path.realpath(link), os.path.realpath(wanted), f"the link to {name!r}")
            check(os.path.isdir(link), f"the link to {name!r} leads nowhere")
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON")


@test("find and tar reach all of them")
def tools():
    names = list(ESCAPED) + PLAIN
    dump = mount_names(names)
    expected = objects(parse(read_file(dump).decode()))
    files = 1 + len(expected) + sum(entry.kind == "directory" for entry in expected.values())
    with Mount(dump) as mount:
        found = run("find", mount.file("qom"), "-print0")
        equal((found.returncode, found.stdout.count(b"\0") + 1, found.stderr), (0, files, b""), "find")
        archive = run("tar", "-C", mount.path, "-cf", os.devnull, "--totals", "qom")
        equal(archive.returncode, 0, f"tar's status; {archive.stderr!r}")


main()
