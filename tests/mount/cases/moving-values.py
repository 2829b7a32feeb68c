#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 120
# builds: plain asan tsan
"""Values that move by themselves: moving/a and moving/b are equal, and higher each time that anybody looks at them."""

import errno
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from fresh import Fresh, read_rest
from lib import check, equal, main, run, test

DIGITS = len(str(1 << 62))


def pread(fd, size, offset):
    try:
        return os.pread(fd, size, offset)
    except OSError as error:
        return errno.errorcode[error.errno]


def both(tree):
    values = {entry["name"]: entry["value"] for entry in tree["properties"]}
    equal(values["a"], values["b"], "two values of one moment")
    return values["a"]


@test("each open shows a newer value, in files and in .tree.json")
def each_open():
    with Fresh() as fresh:
        last = 0
        for i in range(3000):
            path = ("moving/a", "moving/b", "moving/.tree.json")[i % 3]
            content = fresh.read(path)
            value = both(json.loads(content)) if path.endswith("json") else int(content)
            check(value > last, f"round {i}: {path} shows {value} after {last}")
            last = value


@test("one open file is one value at any chunk size; a read at offset 0 after a read looks again")
def read_anew():
    with Fresh() as fresh:
        for path in ("moving/a", "moving/.tree.json"):
            fd = os.open(fresh.file(path), os.O_RDONLY)
            versions = []
            for size in (1, 2, 7, 4096, 1):
                os.lseek(fd, 0, os.SEEK_SET)
                content = read_rest(fd, size)
                check(content.endswith(b"\n"), f"{path} read by {size}: {content!r}")
                value = both(json.loads(content)) if path.endswith("json") else int(content)
                equal(len(str(value)), DIGITS, "digits")
                versions.append(value)
                equal(os.pread(fd, 4096, 5), content[5:], f"{path}: a read at another offset")
            os.close(fd)
            equal(versions, sorted(set(versions)), f"{path}: the values, each read from the start")


@test("the size told is the size read")
def sizes():
    with Fresh() as fresh:
        for path in ("moving/a", "moving/.tree.json", "moving/type"):
            fd = os.open(fresh.file(path), os.O_RDONLY)
            equal(os.fstat(fd).st_size, len(read_rest(fd)), path)
            equal(os.stat(fresh.file(path)).st_size, os.fstat(fd).st_size, path)
            os.close(fd)
        target = os.path.join(os.environ["TMP"], "copy")
        for tool in ("cp", "install"):
            equal(run(tool, fresh.file("moving/.tree.json"), target).returncode, 0, tool)
            with open(target, "rb") as file:
                both(json.loads(file.read()))


@test("ten readers at once: equal values stay equal, nobody goes back")
def many_readers():
    with Fresh() as fresh:
        problems = []

        def reader():
            last = 0
            try:
                for i in range(300):
                    if i % 2:
                        value = both(json.loads(fresh.read("moving/.tree.json")))
                    else:
                        value = int(fresh.read("moving/a"))
                    check(value > last, f"{value} after {last}")
                    last = value
            except Exception as error:
                problems.append(error)

        threads = [threading.Thread(target=reader) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(problems, [], "problems")


@test("an object that is gone: what is open shows what it showed, and ENODEV when read anew")
def gone():
    with Fresh() as fresh:
        fds = [os.open(fresh.file(path), os.O_RDONLY) for path in ("moving/a", "moving/.tree.json")]
        contents = [os.read(fd, 4096) for fd in fds]
        fresh.tell("del", "moving")
        for fd, content in zip(fds, contents):
            equal(pread(fd, 4096, 3), content[3:], "the rest of what was read")
            equal(pread(fd, 4096, 0), "ENODEV", "a read from the start")
            os.close(fd)
        fresh.tell("settle")
        check(not os.path.exists(fresh.file("moving")), "its directory is still there")


main()
