#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 240
# builds: plain asan tsan
"""A value that the main loop changed is seen by the very next open, whatever the kernel has cached by then.

Nothing waits between the publication and the open: that decides, not a notification.
"""

import json
import mmap
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from fresh import Fresh, getdents, list_rest, read_rest
from lib import KIND, check, equal, main, read_file, test

# What a sanitizer sees is seen in fewer.
CHANGES = 10_000 if KIND == "plain" else 2_000
# Lengths about what a page, a readahead and a buffer hold, and any other.
LENGTHS = [0, 1, 2, 6, 4094, 4095, 4096, 4097, 8192, 20_000]


def whole_read(path):
    """What open, fstat, read, close give: the size that was told, and the content."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.fstat(fd).st_size, read_rest(fd)
    finally:
        os.close(fd)


def properties(tree):
    return {entry["name"]: entry["value"] for entry in tree["properties"]}


@test("a number, changed ten thousand times: every next open shows it, and its size")
def numbers():
    with Fresh() as fresh:
        path = fresh.file("pair/front/n")
        for i in range(CHANGES):
            fresh.tell("set", "pair/front", "n", i)
            wanted = b"%d\n" % i
            got = whole_read(path)
            if got != (len(wanted), wanted):
                equal(got, (len(wanted), wanted), f"change {i}")


@test("a text of changing length, ten thousand times")
def texts():
    chance = random.Random(1)
    with Fresh() as fresh:
        path = fresh.file("pair/front/text")
        for i in range(CHANGES):
            length = chance.choice(LENGTHS) if chance.random() < 0.5 else chance.randrange(100)
            text = chr(ord("a") + i % 26) * length
            fresh.tell("set", "pair/front", "text", json.dumps(text))
            got, wanted = whole_read(path), (length + 1, text.encode() + b"\n")
            if got != wanted:
                equal(got, wanted, f"change {i}")


@test("a .tree.json, ten thousand times")
def trees():
    chance = random.Random(2)
    with Fresh() as fresh:
        path = fresh.file("pair/.tree.json")
        for i in range(CHANGES):
            text = "t" * chance.choice(LENGTHS if i % 16 == 0 else [0, 1, 50])
            fresh.tell("set", "pair/back", "n", i, "pair/back", "text", json.dumps(text))
            size, content = whole_read(path)
            check(size == len(content), f"change {i}: {len(content)} bytes where fstat said {size}")
            shown = properties(json.loads(content)["children"][1])
            if (shown["n"], shown["text"]) != (i, text):
                equal((shown["n"], shown["text"]), (i, text), f"change {i}")


@test("the .tree.json of the whole, five hundred times")
def whole_trees():
    with Fresh() as fresh:
        for i in range(500):
            name = f"w{i * 7 % 2000:04}"
            generation = fresh.tell("set", f"wide/{name}", "n", i + 1)
            tree = json.loads(read_file(os.path.join(fresh.path, ".tree.json")))
            wide = next(child for child in tree["qom"]["children"] if child["name"] == "wide")
            shown = properties(next(child for child in wide["children"] if child["name"] == name))["n"]
            equal((shown, tree["vm"]["generation"]), (i + 1, generation), f"change {i}")


@test("a change in the middle of a listing is seen by the next open, of names listed before and after it")
def in_mid_listing():
    with Fresh() as fresh:
        many = fresh.file("many")
        for i in range(1, 1001):
            # Another list of names, or the kernel would answer from the last one.
            if i % 2:
                fresh.tell("add", "many", "guest")
            else:
                fresh.tell("del", "many/guest")
            fresh.tell("settle")
            fd = os.open(many, os.O_RDONLY | os.O_DIRECTORY)
            first = [name for name, _ in getdents(fd, 2048)]
            check("p001" in first and "p290" not in first, f"a listing that begins with {len(first)} names")
            fresh.tell("set", "many", "p001", i, "many", "p290", i)
            rest = [name for name, _ in list_rest(fd)]
            os.close(fd)
            check("p290" in rest, "p290 is not listed")
            for name in ("p001", "p290"):
                equal(fresh.read(f"many/{name}"), b"%d\n" % i, f"{name} after change {i}")
            shown = properties(json.loads(fresh.read("many/.tree.json")))
            equal((shown["p001"], shown["p290"]), (i, i), f".tree.json after change {i}")


@test("size and time of a bare stat, once a change has settled")
def bare_stat():
    chance = random.Random(3)
    with Fresh() as fresh:
        path, last = fresh.file("pair/front/text"), 0
        for i in range(2000):
            length = chance.choice(LENGTHS[1:])
            fresh.tell("set", "pair/front", "text", json.dumps(chr(ord("a") + i % 26) * length))
            fresh.tell("settle")
            attr = os.stat(path)
            check(attr.st_size == length + 1, f"change {i}: size {attr.st_size}, not {length + 1}")
            check(attr.st_mtime_ns > last, f"change {i}: mtime {attr.st_mtime_ns} after {last}")
            last = attr.st_mtime_ns


def old_version(fresh, path, size_of_first_part):
    """Opens, reads a part, lets the value change ten times, reads the rest: (size by fstat, all that was read)."""
    fd = os.open(path, os.O_RDONLY)
    try:
        begin = os.read(fd, size_of_first_part)
        for i in range(10):
            fresh.tell("set", "pair/front", "text", json.dumps("n" * (1 + i * 3000)))
            read_file(path)
        size = os.fstat(fd).st_size
        rest = read_rest(fd, 3000)
        again = os.pread(fd, 1 << 20, 0)
        equal(again, begin + rest, "what pread gives of an open file")
        return size, begin + rest
    finally:
        os.close(fd)


@test("an open file stays as it was to its end: part read before, part after ten changes")
def open_file():
    with Fresh() as fresh:
        for length in LENGTHS[1:] + [500_000]:
            text = "o" * length
            for path in ("pair/front/text", "pair/front/.tree.json", "pair/.tree.json"):
                fresh.tell("set", "pair/front", "text", json.dumps(text))
                wanted = fresh.read(path)
                check(text.encode() in wanted, f"{path} does not show the change")
                for part in (0, 1, 1000, 4096):
                    fresh.tell("set", "pair/front", "text", json.dumps(text))
                    got = old_version(fresh, fresh.file(path), part)
                    equal(got, (len(wanted), wanted), f"{path}, {part} bytes read before the change")


@test("an old version can be read again when the kernel has dropped its pages")
def dropped():
    with Fresh() as fresh:
        for length in (100, 5000, 500_000):
            fresh.tell("set", "pair/front", "text", json.dumps("d" * length))
            for path in ("pair/front/text", "pair/.tree.json"):
                wanted = fresh.read(path)
                fd = os.open(fresh.file(path), os.O_RDONLY)
                for i in range(3):
                    fresh.tell("set", "pair/front", "text", json.dumps("e" * (length + i)))
                    fresh.tell("settle")
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    equal((os.fstat(fd).st_size, os.pread(fd, 1 << 20, 0)), (len(wanted), wanted), f"{path}, drop {i}")
                os.close(fd)
                fresh.tell("set", "pair/front", "text", json.dumps("d" * length))


@test("an old version can be mapped as well")
def mapped():
    with Fresh() as fresh:
        fresh.tell("set", "pair/front", "text", json.dumps("m" * 10_000))
        wanted = fresh.read("pair/front/.tree.json")
        with open(fresh.file("pair/front/.tree.json"), "rb") as file:
            fresh.tell("set", "pair/front", "text", json.dumps("x" * 20_000))
            fresh.read("pair/front/.tree.json")
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
                equal(bytes(content), wanted, "the mapping")


@test("what is written through the mount is read back by the next open, a thousand times")
def written():
    with Fresh() as fresh:
        for i in range(1000):
            with open(fresh.file("pair/front/n"), "w", encoding="ascii") as file:
                file.write(f"{i}\n")
            equal(fresh.read("pair/front/n"), b"%d\n" % i, f"write {i}")
            check(b'"value":%d}' % i in fresh.read("pair/.tree.json"), f".tree.json after write {i}")


main()
