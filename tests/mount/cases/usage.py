#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""The command line: help, version, options right and wrong (status 2), options that change what a mount shows."""

import os
import re
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, check, check_message, check_nothing_left, equal, main, mounts_at, need_root, qomfs, read_file
from lib import recorded, run, scratch, test, tests_for, write_file

DUMP = recorded("qemu-7.2-pc")


@test("-h and --help: standard output, status 0, a screen of 24 lines of 80 columns")
def help_text():
    texts = []
    for option in ("-h", "--help"):
        result = qomfs(option)
        equal((result.returncode, result.stderr), (0, b""), option)
        texts.append(result.stdout.decode())
    equal(texts[0], texts[1], "-h and --help")
    lines = texts[0].splitlines()
    check(lines[0].lower().startswith("usage: qomfs"), f"the first line: {lines[0]!r}")
    check(len(lines) <= 24, f"{len(lines)} lines")
    check(max(map(len, lines)) <= 80, f"{max(map(len, lines))} columns")
    for word in ("SOURCE", "MOUNTPOINT", "-o ", "-f", "-d", "-V", "-h"):
        check(word in texts[0], f"{word} is not in it")


@test("-V and --version: name and version, status 0")
def version():
    for option in ("-V", "--version"):
        result = qomfs(option)
        equal((result.returncode, result.stderr), (0, b""), option)
        check(re.match(rb"qomfs \d+\.\d+\.\d+\b", result.stdout), f"it says {result.stdout!r}")


@test("-h and -V win over everything else on the line")
def help_first():
    for arguments in (("-h", "/nowhere", "/nowhere/else"), (DUMP, "/nowhere", "--help"), ("-V", "/nowhere")):
        result = qomfs(*arguments)
        equal((result.returncode, result.stderr), (0, b""), str(arguments))


WRONG = {
    "nothing at all": (),
    "three operands": ("a", "b", "c"),
    "an unknown long option": ("--frobnicate", "{dump}", "{point}"),
    "an unknown short option": ("-x", "{dump}", "{point}"),
    "an unknown mount option": ("{dump}", "{point}", "-o", "frobnicate"),
    "an unknown mount option with a value": ("{dump}", "{point}", "-o", "frobnicate=1"),
    "an unknown mount option among known ones": ("{dump}", "{point}", "-o", "ro,frobnicate,allow_other"),
    "-o without anything": ("{dump}", "{point}", "-o"),
    "ttl that is no number": ("{dump}", "{point}", "-o", "ttl=soon"),
    "ttl that is negative": ("{dump}", "{point}", "-o", "ttl=-1"),
    "ttl with more after the number": ("{dump}", "{point}", "-o", "ttl=1x"),
    "ttl that is empty": ("{dump}", "{point}", "-o", "ttl="),
    "ttl that is NaN": ("{dump}", "{point}", "-o", "ttl=nan"),
    "timeout that is infinite": ("{dump}", "{point}", "-o", "timeout=inf"),
    "timeout that is too large": ("{dump}", "{point}", "-o", "timeout=1e300"),
    "a flag with a value": ("{dump}", "{point}", "-o", "hide_tree=1"),
    "an option whose value is missing": ("{dump}", "{point}", "-o", "timeout"),
    "uid that is no number": ("{dump}", "{point}", "-o", "uid=root%"),
    "uid that is negative": ("{dump}", "{point}", "-o", "uid=-5"),
    "uid that is too large": ("{dump}", "{point}", "-o", "uid=4294967296"),
    "umask that is not octal": ("{dump}", "{point}", "-o", "umask=9"),
    "--share with a dump": ("--share", "{dump}", "{point}"),
    "control characters": ("{dump}", "{point}", "-o", "fro\x1b[31m\nbni\u009b2J"),
    "bytes that are not UTF-8": ("{dump}", "{point}", "-o", b"frob\xff\xfe"),
    "a very long option": ("{dump}", "{point}", "-o", "x" * 300),
}


@tests_for(WRONG, "wrong usage: {}")
def wrong(name):
    point = scratch("point")
    values = {"dump": DUMP, "point": point}
    arguments = [a.format(**values) if isinstance(a, str) else a for a in WRONG[name]]
    quoted = re.search(r"frobnicate|share|umask|uid|ttl|timeout|hide_tree", " ".join(map(str, WRONG[name])))
    check_message(qomfs(*arguments), quoted.group() if quoted else "", status=2)
    check_message(qomfs("-f", *arguments), quoted.group() if quoted else "", status=2)
    check_nothing_left(point)


@test("options may stand anywhere, be repeated, and be written in each form")
def forms():
    for line in ("-o ro DUMP POINT", "DUMP -o ro POINT", "DUMP POINT -oro", "DUMP POINT -o ro -o ttl=0.5,timeout=2.5",
                 "--ttl=1 DUMP POINT", "DUMP POINT -o ro,,ttl=1,", "-o ro -- DUMP POINT",
                 "DUMP POINT -o ro,ro,ttl=1,ttl=2"):
        point = scratch("point")
        result = qomfs(*({"DUMP": DUMP, "POINT": point}.get(word, word) for word in line.split()))
        equal((result.returncode, result.stderr), (0, b""), line)
        equal(len(mounts_at(point)), 1, f"{line}: mounts")
        equal(run("fusermount3", "-u", point).returncode, 0, "fusermount3 -u")
        check_nothing_left(point)


@test("options that mount(8) and fstab add are taken")
def generic():
    for options in ("dev,suid", "nosuid,nodev,noexec,noatime", "ro,dev,suid"):
        point = scratch("point")
        result = qomfs(DUMP, point, "-o", options)
        equal((result.returncode, result.stderr), (0, b""), options)
        equal(run("fusermount3", "-u", point).returncode, 0, "fusermount3 -u")
        check_nothing_left(point)


@test("the mount's entry: type fuse.qomfs, the source by name, default_permissions always")
def mountinfo():
    with Mount(DUMP) as mount:
        ((kind, source, options),) = mounts_at(mount.path)
        equal(kind, "fuse.qomfs", "its type")
        equal(source, os.fsencode(DUMP), "its source")
        check("default_permissions" in options.split(","), f"its options: {options}")
        check("allow_other" not in options.split(","), f"its options: {options}")
        check({"nosuid", "nodev"} <= set(options.split(",")), f"its options: {options}")


@test("-o hide_tree: .tree.json is in no listing, and can be opened by its name")
def hide_tree():
    with Mount(DUMP, options="hide_tree") as mount:
        check(b".tree.json" not in run("find", mount.path).stdout, "find sees one")
        equal(sorted(os.listdir(mount.path))[:1], ["blockstats"], "the root")
        check(mount.read("qom", ".tree.json") == read_file(DUMP), "it cannot be opened")
        check(stat.S_ISREG(os.stat(mount.file("qom", "machine", ".tree.json")).st_mode), "it cannot be found")
        equal(run("ls", "-A", mount.file("blockstats")).stdout, b"", "an empty view")
    with Mount(DUMP, arguments=["--hide_tree"]) as mount:
        check(".tree.json" not in os.listdir(mount.file("qom")), "--hide_tree does not hide it")


@test("-o uid=, gid=, umask= change owners and modes")
def owners():
    need_root()
    with Mount(DUMP, options="uid=1234,gid=2345") as mount:
        for names in (("qom",), ("qom", "type"), ("qom", ".tree.json"), ()):
            status = os.stat(mount.file(*names))
            equal((status.st_uid, status.st_gid), (1234, 2345), f"owner of {names}")
    with Mount(DUMP, options="umask=077") as mount:
        equal(stat.S_IMODE(os.stat(mount.file("qom", "type")).st_mode), 0o400, "mode of a file")
        equal(stat.S_IMODE(os.stat(mount.file("qom")).st_mode), 0o500, "mode of a directory")


@test("-d: goes on in the foreground, and tells what it does")
def debug():
    mount = Mount(DUMP, arguments=["-d"])
    check(mount.read("qom", "type"), "nothing there")
    mount.process.terminate()
    equal(mount.process.wait(20), 0, "its status")
    check("LOOKUP" in mount.messages(), "it tells nothing")
    mount.destroy()


@test("a source of each kind is told by its content, whatever its name")
def kinds():
    for name in ("dump.json", "dump", "model.txt", "localhost:5", "-dump", "model", "with,comma,ro", "back\\slash,x",
                 "with blank", "new\nline", "grün"):
        path = write_file(read_file(DUMP), name)
        point = scratch("point")
        relative = name if not name.startswith("-") else "./" + name
        result = qomfs(relative, point, cwd=os.path.dirname(path))
        equal((result.returncode, result.stderr), (0, b""), f"the start with {name!r}")
        equal([source for _, source, _ in mounts_at(point)], [os.fsencode(relative)], "the source in the mount's entry")
        check(read_file(os.path.join(point, "qom", ".tree.json")) == read_file(DUMP), f"{name}: another tree")
        equal(run("fusermount3", "-u", point).returncode, 0, "fusermount3 -u")


main()
