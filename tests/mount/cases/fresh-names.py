#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 120
# builds: plain asan tsan
"""Objects that come and go while somebody looks: names, inode numbers, listings half way, files still open."""

import errno
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from fresh import Fresh, getdents, list_rest, read_rest
from lib import check, equal, main, test

WIDE = [f"w{i:04}" for i in range(2000)]
FILES_OF_GUEST = ["", ".tree.json", "n", "type"]


def error_of(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "no error"


def listed_in_parts(fresh, gone, come):
    """Lists half of wide/, lets names go and come, lists the rest: the entries."""
    fd = os.open(fresh.file("wide"), os.O_RDONLY | os.O_DIRECTORY)
    try:
        entries = []
        while len(entries) < len(WIDE) // 2:
            entries += getdents(fd, 1024)
        fresh.tell("del", *(f"wide/{name}" for name in gone))
        for name in come:
            fresh.tell("add", "wide", name)
        return entries + list_rest(fd, 1024)
    finally:
        os.close(fd)


@test("names that go and come in the middle of a listing: every other one is listed exactly once")
def mid_listing():
    for gone, come in (
        (WIDE[100:200], []),
        (WIDE[1500:1600], []),
        (WIDE[0:100], []),
        (WIDE[50:1950:10], [f"new{i}" for i in range(100)]),
        (WIDE[900:1100], ["a", "zzz"]),
    ):
        with Fresh() as fresh:
            entries = listed_in_parts(fresh, gone, come)
            names = [name for name, _ in entries]
            untouched = [name for name in WIDE if name not in set(gone)]
            check(len(names) == len(set(names)), "a name is listed twice")
            equal([name for name in names if name in set(untouched)], untouched, "the names that were there all the time")
            for name, ino in entries:
                check(ino != 0, f"{name} has no inode number")
                if name in untouched[::50]:
                    equal(ino, os.stat(fresh.file(f"wide/{name}")).st_ino, f"the inode number of {name}")
            fresh.tell("settle")
            wanted = sorted(set(WIDE) - set(gone) | set(come) | {".tree.json", "type"})
            equal(sorted(os.listdir(fresh.file("wide"))), wanted, "the next listing")


@test("an object that goes and comes again is another one: no inode number is used again")
def inode_numbers():
    with Fresh() as fresh:
        seen = {}
        for i in range(500):
            fresh.tell("add", "come", "guest")
            fresh.tell("settle")
            for name in FILES_OF_GUEST:
                ino = os.stat(fresh.file(f"come/guest/{name}")).st_ino
                check(ino not in seen, f"round {i}: '{name}' has the number of {seen.get(ino)}")
                seen[ino] = (i, name)
            fresh.tell("del", "come/guest")
            fresh.tell("settle")
            equal(error_of(os.stat, fresh.file("come/guest")), "ENOENT", f"round {i}: what went")


@test("an object keeps its inode numbers while its values change")
def same_object():
    with Fresh() as fresh:
        paths = [fresh.file(f"pair/front/{name}") for name in ("", ".tree.json", "n", "text")]
        before = [os.stat(path).st_ino for path in paths]
        for i in range(200):
            fresh.tell("set", "pair/front", "n", i)
            fds = [os.open(path, os.O_RDONLY) for path in paths]
            equal([os.fstat(fd).st_ino for fd in fds], before, f"fstat after change {i}")
            equal([os.stat(path).st_ino for path in paths], before, f"stat after change {i}")
            for fd in fds:
                os.close(fd)


@test("what is open of an object that goes stays readable; the next open says that it is gone")
def still_open():
    with Fresh() as fresh:
        for i in range(500):
            fresh.tell("add", "come", "guest")
            fresh.tell("settle")
            paths = [fresh.file(f"come/guest/{name}") for name in FILES_OF_GUEST[1:]]
            contents = [open(path, "rb").read() for path in paths]
            fds = [os.open(path, os.O_RDONLY) for path in paths]
            os.read(fds[0], 1)
            fresh.tell("del", "come/guest")
            for path in paths:
                equal(error_of(os.open, path, os.O_RDONLY), "ENOENT", f"round {i}: open of {path}")
            equal([os.pread(fd, 4096, 0) for fd in fds], contents, f"round {i}: what is open")
            equal(read_rest(fds[0]), contents[0][1:], f"round {i}: the rest")
            for fd in fds:
                os.close(fd)


@test("names are as they are once a change has settled: in listings, to stat, to open")
def settled_names():
    with Fresh() as fresh:
        come = fresh.file("come")
        for i in range(1000):
            name, path = f"g{i % 10}", os.path.join(come, f"g{i % 10}", "n")
            wanted = {".tree.json", "type"}
            if i % 20 < 10:
                equal(error_of(os.stat, path), "ENOENT", f"round {i}: before it comes")
                fresh.tell("add", "come", name)
                wanted |= {f"g{k}" for k in range(i % 10 + 1)}
            else:
                os.stat(path)
                fresh.tell("del", f"come/{name}")
                wanted |= {f"g{k}" for k in range(i % 10 + 1, 10)}
            fresh.tell("settle")
            equal(set(os.listdir(come)), wanted, f"round {i}: the listing")
            equal(error_of(lambda p: os.close(os.open(p, os.O_RDONLY)), path),
                  "no error" if i % 20 < 10 else "ENOENT", f"round {i}: open")


@test("whoever stands in a directory that goes can leave it")
def stand_in_it():
    with Fresh() as fresh:
        fresh.tell("add", "come", "guest")
        fd = os.open(fresh.file("come/guest"), os.O_RDONLY | os.O_DIRECTORY)
        os.fchdir(fd)
        fresh.tell("del", "come/guest")
        fresh.tell("settle")
        check(error_of(os.stat, "n") in ("ENOENT", "ESTALE"), "a file in a directory that is gone")
        os.chdir("/")
        os.close(fd)
        equal(sorted(os.listdir(fresh.file("come"))), [".tree.json", "type"], "what is left")


main()
