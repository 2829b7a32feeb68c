#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""Links: relative, inside the mount, never one to the root that stands for "not set"."""

import errno
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, check, check_tree, equal, kind_of, main, obj, prop, read_file, recorded, run
from lib import scratch, test, write_file


def link(name, target):
    return prop(name, f'"{target}"', "link<x>")


def tree(*links):
    """A tree with objects /a/b/c and /d, and these links in /a/b."""
    c = obj("c", kind_of("x"), prop("number", "3", "int"))
    a = obj("a", children=[obj("b", *links, children=[c])])
    return obj("/", kind_of("root"), children=[a, obj("d", kind_of("d"))])


@test("links to the root, to itself, upwards, downwards, through other links, with empty components")
def good():
    links = [link("root", "/"), link("self", "/a/b"), link("up", "/a"), link("down", "/a/b/c"), link("over", "/d"),
             link("through", "/a/b/up/b/c"), link("twice", "//a///b/c/"), link("loop", "/a/b/loop2"),
             link("loop2", "/a/b/loop"), link("itself", "/a/b/itself")]
    wanted = {"root": "", "self": "a/b", "up": "a", "down": "a/b/c", "over": "d", "through": "a/b/c", "twice": "a/b/c"}
    dump = write_file(tree(*links) + "\n")
    with Mount(dump) as mount:
        for name, target in wanted.items():
            path = mount.file("qom", "a", "b", name)
            check(os.path.islink(path), f"{name} is no symlink")
            check(not os.readlink(path).startswith("/"), f"{name} is absolute: {os.readlink(path)}")
            equal(os.path.realpath(path), os.path.realpath(mount.file("qom", target)), name)
            check(os.listdir(path), f"{name} leads to nothing")
        equal(mount.read("qom", "a", "b", "through", "number"), b"3\n", "a file through links")
        for name in ("loop", "loop2", "itself"):
            check(not os.path.exists(mount.file("qom", "a", "b", name)), f"{name} leads somewhere")
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON")


@test("a link that is not set is a regular file with an empty line")
def unset():
    dump = write_file(tree(link("none", ""), link("set", "/d")) + "\n")
    with Mount(dump) as mount:
        path = mount.file("qom", "a", "b", "none")
        check(os.path.isfile(path) and not os.path.islink(path), "it is no regular file")
        equal(read_file(path), b"\n", "its content")
        equal(os.getxattr(path, "user.qom.type"), b"link<x>", "its type")
        check_tree(dump, mount)


@test("a property of another type that holds a path is no link")
def no_link():
    kinds = {"path": "str", "path2": "child", "path3": "xlink<x>"}
    dump = write_file(tree(*(prop(name, '"/d"', kind) for name, kind in kinds.items())))
    with Mount(dump) as mount:
        for name in kinds:
            check(not os.path.islink(mount.file("qom", "a", "b", name)), f"{name} is a symlink")
            equal(mount.read("qom", "a", "b", name), b"/d\n", name)


@test("no link leads out of the mount, whatever the dump says")
def escapes():
    outside = scratch("outside")
    with open(os.path.join(outside, "prize"), "w") as file:
        file.write("out\n")
    up = "/.." * 30
    targets = [up + outside, f"{up}{outside}/prize", outside, "/../../../etc/passwd", "../../../../etc", "/etc/passwd",
               f"/a/b/c{up}{outside}", "/./../..", "..", "/..", "/.tree.json", "/a/%2E%2E/..", "etc\\u0000/x",
               "/\\u0000", "/a/b/c/../../../../..", "x" * 3000, "/x" * 3000, "/" * 5000]
    dump = write_file(tree(*(link(f"l{i}", target) for i, target in enumerate(targets))) + "\n")
    with Mount(dump) as mount:
        inside = os.path.realpath(mount.path) + "/"
        for i, target in enumerate(targets):
            path = mount.file("qom", "a", "b", f"l{i}")
            check(os.path.lexists(path), f"the link to {target[:60]!r} is not there")
            try:
                text = os.readlink(path)
            except OSError as error:  # no link, or one longer than the kernel takes
                check(error.errno == errno.EINVAL or len(target) > 4000, f"the link to {target[:60]!r}: {error}")
                text = None
            if text:
                check(not text.startswith("/"), f"the link to {target[:60]!r} is absolute: {text[:60]}")
                real = os.path.realpath(path)
                check((real + "/").startswith(inside), f"the link to {target[:60]!r} leads to {real}")
            check(not os.path.exists(os.path.join(path, "prize")), f"the link to {target[:60]!r} leads out")
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON")
        equal(len(os.listdir(mount.file("qom", "a", "b"))), len(targets) + 2, "names beside the links")


@test("a link to an object that is not there disturbs nobody")
def dangling():
    dump = write_file(tree(link("gone", "/a/nobody/here"), link("file", "/a/b/c/number"), link("ok", "/d")) + "\n")
    with Mount(dump) as mount:
        folder = mount.file("qom", "a", "b")
        equal(sorted(os.listdir(folder)), [".tree.json", "c", "file", "gone", "ok"], "the listing")
        check(os.path.lexists(os.path.join(folder, "gone")), "it is listed, and not there")
        check(not os.path.isdir(os.path.join(folder, "gone")), "it leads somewhere")
        equal(os.listdir(os.path.join(folder, "ok")), [".tree.json", "type"], "the good one")
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON")


@test("attributes of many links, and of links with long names: what is listed can be read, within the kernel's limits")
def attributes():
    long = [link(letter * length, "/d") for letter, length in (("l", 200), ("m", 250), ("n", 255), ("o", 300))]
    many = [link(f"link number {i}", "/d") for i in range(3000)]
    for links in (long, many):
        with Mount(write_file(tree(*links))) as mount:
            path = mount.file("qom", "a", "b")
            for name in os.listxattr(path):
                check(os.getxattr(path, name), f"{name} is listed, and empty")
            first = json.loads(links[0])["name"]
            equal(os.getxattr(path, f"user.qom.type.{first}"), b"link<x>", "the type of the first link")
            equal(run("getfattr", "--absolute-names", "-dm-", path).stderr, b"", "what getfattr complains of")


@test("ls -lR and grep -r do not follow links, and end")
def others():
    with Mount(recorded("qemu-7.2-pc")) as mount:
        equal(run("ls", "-lR", mount.path, timeout=30).returncode, 0, "the status of ls -lR")
        result = run("grep", "-r", "x86_64-cpu", mount.path, timeout=10)
        check(result.stdout.count(b"\n") > 1, "grep finds nothing")


main()
