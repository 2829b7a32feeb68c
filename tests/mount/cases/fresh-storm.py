#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 180
# builds: plain asan tsan
"""A tree that changes all the time, several thousand times a second, read by everybody at once.

The changes: pair/front/n and pair/back/n are always the same number, set in one publication; pair/back/text begins with
it and is of any length; objects come to come/ and go.
"""

import collections
import contextlib
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from fresh import Fresh, read_rest
from lib import Failed, check, equal, main, read_file, run, scratch, test

STORM_US = 200
SECONDS = 3


def properties(tree):
    return {entry["name"]: entry["value"] for entry in tree["properties"]}


def text_of(number):
    """What pair/back/text is with this number: see storm() in fresh-source.c."""
    letters = "".join(chr(ord("a") + (number + i) % 26) for i in range(26))
    length = number * 7919 % 20_000
    return f"{number} " + (letters * (length // 26 + 1))[:length]


def pair_in(tree):
    """The three values of a .tree.json of pair/; checks that they belong together, and returns the number."""
    front, back = (properties(child) for child in tree["children"])
    equal(front["n"], back["n"], "the two numbers that always change together")
    equal(back["text"], text_of(back["n"]), f"the text of number {back['n']}")
    return front["n"]


def number_in_text(content):
    number = int(content.split(b" ", 1)[0])
    equal(content, text_of(number).encode() + b"\n", f"the text of number {number}")
    return number


# Every way to learn how far the changes have come: path below the mount, and the number in its content.
SIGHTS = {
    "qom/pair/front/n": int,
    "qom/pair/back/n": int,
    "qom/pair/back/text": number_in_text,
    "qom/pair/.tree.json": lambda content: pair_in(json.loads(content)),
    "qom/pair/front/.tree.json": lambda content: properties(json.loads(content))["n"],
    "qom/pair/back/.tree.json": lambda content: properties(json.loads(content))["n"],
}


def storming(function):
    """Calls it until the time is up, at least ten times, while the tree changes; the number of calls."""
    with Fresh() as fresh:
        fresh.tell("storm", STORM_US)
        while fresh.read("pair/front/n") == b"0\n":
            time.sleep(0.001)
        calls, end = 0, time.monotonic() + SECONDS
        while calls < 10 or time.monotonic() < end:
            function(fresh)
            calls += 1
        changes = fresh.tell("calm")
        print(f"# {calls} rounds during {changes} changes")
        check(changes > 100, f"only {changes} changes")


@test("two values that change together are never seen apart in a .tree.json")
def together():
    storming(lambda fresh: pair_in(json.loads(fresh.read("pair/.tree.json"))))


@test("across files, nothing older follows something newer")
def never_backwards():
    chance, newest = random.Random(1), [0, ""]

    def look(fresh):
        path = chance.choice(list(SIGHTS))
        number = SIGHTS[path](read_file(os.path.join(fresh.path, path)))
        check(number >= newest[0], f"{path} shows {number} after {newest[1]} showed {newest[0]}")
        newest[:] = number, path

    storming(look)


@test("the generation in vm/ and in the root's .tree.json goes up with the numbers, never down")
def generations():
    last = [0, 0]

    def look(fresh):
        tree = json.loads(read_file(os.path.join(fresh.path, ".tree.json")))
        pair = next(child for child in tree["qom"]["children"] if child["name"] == "pair")
        now = [tree["vm"]["generation"], pair_in(pair)]
        check(now[0] >= last[0] and now[1] >= last[1], f"{now} after {last}")
        # Each change of the storm is one generation.
        if last[0]:
            equal(now[0] - last[0], now[1] - last[1], "generations, changes")
        check(int(read_file(os.path.join(fresh.path, "vm", "generation"))) >= now[0], "vm/generation is older")
        last[:] = now

    storming(look)


@test("an open file shows one version, read slowly and in small pieces")
def slow_reader():
    chance = random.Random(2)

    def look(fresh):
        for path in ("qom/pair/back/text", "qom/pair/.tree.json"):
            fd = os.open(os.path.join(fresh.path, path), os.O_RDONLY)
            begin = os.read(fd, chance.choice([1, 100, 4096]))
            time.sleep(0.002)
            size = os.fstat(fd).st_size
            content = begin + read_rest(fd, chance.choice([500, 4096, 5000]))
            os.close(fd)
            equal(len(content), size, f"{path}: bytes read, size by fstat")
            SIGHTS[path](content)

    storming(look)


@test("cp and install of it never fail")
def copies():
    target = os.path.join(scratch(), "copy")

    def look(fresh):
        for path in ("qom/pair/back/text", "qom/pair/.tree.json", "qom/pair/front/n"):
            for tool in ("cp", "install"):
                copied = run(tool, os.path.join(fresh.path, path), target)
                equal((copied.returncode, copied.stderr), (0, b""), f"{tool} {path}")
                SIGHTS[path](read_file(target))

    storming(look)


@test("objects that come and go: listed ones can be read or are gone, and no inode number comes back")
def guests():
    numbers = {}

    def look(fresh):
        for name in os.listdir(fresh.file("come")):
            if not name.startswith("guest-"):
                continue
            path = fresh.file(f"come/{name}/n")
            try:
                ino = os.stat(path).st_ino
                # Each is one more than the one before, from guest-1 on.
                equal(read_file(path), name.removeprefix("guest-").encode() + b"\n", path)
            except OSError as error:
                check(error.errno == errno.ENOENT, f"{path}: {error}")
            else:
                equal(numbers.setdefault(ino, name), name, f"whose inode number {ino} is")

    storming(look)
    check(len(numbers) > 10, f"only {len(numbers)} objects were seen")


@test("everybody at once: six processes that read, list and search, and one that compares")
def everybody():
    with Fresh() as fresh:
        fresh.tell("storm", STORM_US)
        commands = [
            f"while :; do cat {fresh.file('pair/back/text')} {fresh.file('pair/.tree.json')} > /dev/null || exit; done",
            f"while :; do cat {fresh.file('pair/front/n')} {fresh.file('moving/a')} > /dev/null || exit; done",
            f"while :; do ls -lR {fresh.file('pair')} {fresh.file('moving')} > /dev/null || exit; done",
            f"while :; do ls -l {fresh.file('come')} > /dev/null 2>&1; done",
            f"while :; do find {fresh.path} -name 'guest-*' > /dev/null 2>&1; done",
            f"while :; do cat {fresh.path}/.tree.json {fresh.file('.tree.json')} > /dev/null || exit; done",
        ]
        shells = [subprocess.Popen(["sh", "-c", command], start_new_session=True) for command in commands]
        sights, last, end = collections.Counter(), 0, time.monotonic() + 2 * SECONDS
        try:
            while time.monotonic() < end or len(sights) < len(SIGHTS):
                for path, number_in in SIGHTS.items():
                    number = number_in(read_file(os.path.join(fresh.path, path)))
                    check(number >= last, f"{path} shows {number} after {last}")
                    last = number
                    sights[path] += 1
                ended = [command for command, shell in zip(commands, shells) if shell.poll() is not None]
                if ended:
                    raise Failed(f"failed: {ended}")
        finally:
            for shell in shells:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)
                shell.wait()
        print(f"# {sum(sights.values())} reads during {fresh.tell('calm')} changes")


main()
