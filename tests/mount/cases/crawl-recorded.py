#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 180
"""The recorded trees, mounted: every property of the JSON is a file, every file a property, and nothing else differs.

    {"name":"/","children":[{"name":"machine",...}],"properties":[...]}      M/qom/machine/...
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from crawl import ASPECTS, crawl
from expected import objects, parse
from lib import Mount, check, equal, main, none, read_file, recorded, tests_for

# What was counted when they were recorded: objects, properties that are no children.
COUNTS = {
    "qemu-11.1-q35-rich": (461, 5123),
    "qemu-11.1-pc": (288, 2017),
    "qemu-7.2-q35-rich": (453, 4625),
    "qemu-7.2-pc": (286, 1865),
}

results = {}


def crawled(name):
    """The crawl of a recorded tree; done once."""
    if name not in results:
        text = read_file(recorded(name)).decode()
        mtime_ns = os.stat(recorded(name)).st_mtime_ns
        with Mount(recorded(name)) as mount:
            expected = objects(parse(text))
            result = crawl(mount.file("qom"), expected, mtime_ns, owner=(os.getuid(), os.getgid()))
            results[name] = (expected, result, mount.read("qom", ".tree.json") == text.encode())
    return results[name]


@tests_for(COUNTS, "{}: qom/.tree.json is the file, byte for byte")
def whole_tree(name):
    check(crawled(name)[2], "it differs")


@tests_for(COUNTS, "{}: all objects and properties are there, nothing else is")
def counts(name):
    expected, result, _ = crawled(name)
    kinds = [entry.kind for entry in expected.values()]
    equal((kinds.count("directory"), kinds.count("file") + kinds.count("link")), COUNTS[name], "objects, properties")
    none(result.problems["names"], "names")
    # each object's directory and .tree.json, each property: listed, and looked at
    compared = 2 * COUNTS[name][0] + COUNTS[name][1]
    equal(result.counts["names"], 2 * compared - 1, "names compared (the root is listed nowhere)")


def one_aspect(aspect):
    def function(name):
        _, result, _ = crawled(name)
        check(result.counts[aspect], "nothing was compared")
        none(result.problems[aspect], aspect)

    tests_for(COUNTS, "{}: " + aspect)(function)


for each in ASPECTS[1:]:
    one_aspect(each)


@tests_for(COUNTS, "{}: mounted twice, the listings and bytes are the same")
def same_again(name):
    listings = []
    for _ in range(2):
        with Mount(recorded(name)) as mount:
            walk = [(where[len(mount.path):], *names) for where, *names in os.walk(mount.file("qom"))]
            listings.append((walk, mount.read("qom", ".tree.json"), mount.read("qom", ".tree.json")))
    check(len(listings[0][0]) == COUNTS[name][0], "the listing is not complete")
    equal(listings[0][1], listings[0][2], "two reads of .tree.json")
    check(listings[0] == listings[1], "the order of names, or a byte, differs from mount to mount")


main()
