#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""Values that are easily damaged: long numbers, types that lie, strings with anything in them, structures."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from expected import file_name, parse
from lib import Mount, check, check_tree, equal, kind_of, main, obj, prop, read_file, run, test, tests_for, write_file

NUMBERS = ["18446744073709551615", "9223372036854775808", "-9223372036854775808", "9007199254740993",
           "1234567890123460", "1000000000000000000000000000000", "0", "-0", "-1", "1e3", "1E+3", "1.0", "0.1", "1.50",
           "-2.5e-10", "1e999", "0.30000000000000004", "3.141592653589793238462643383279502884"]
STRINGS = {
    "empty": '""',
    "blank": '" "',
    "newline": r'"\n"',
    "ends in newline": r'"line\n"',
    "lines": r'"one\ntwo\r\nthree"',
    "nul": r'"a\u0000b"',
    "only nul": r'"\u0000"',
    "controls": r'"\u0001\u001b[31m\u007f\b\f\t"',
    "escapes": r'"\"\\\/"',
    "latin": r'"\u00fc\u00DF"',
    "greek, pairs": r'"\u03b1\ud83d\ude00\uD83D\uDE00"',
    "highest": r'"\udbff\udfff\uffff\ufffe"',
    "looks like json": r'"{\"a\":1}"',
    "looks like a number": '"0x10"',
    "quote": '"\'"',
}
STRUCTURES = ["[]", "{}", "null", "true", "false", "[[]]", '{"":""}', '{"a":{"b":[1,2,{"c":null}]}}', '["\\n"]',
              '[18446744073709551615,1234567890123460,1e3]', '{"type":"link<x>","value":"/"}',
              '[{"name":"x"},"y",false]']


def mounted_values(values):
    """A dump with these values (JSON texts) by name."""
    properties = [prop(name, text, "x") for name, text in values.items()]
    return write_file(obj("/", kind_of("container"), children=[obj("o", *properties)]) + "\n")


@test("numbers are shown digit for digit")
def numbers():
    dump = mounted_values({text: text for text in NUMBERS})
    with Mount(dump) as mount:
        for text in NUMBERS:
            equal(mount.read("qom", "o", text), text.encode() + b"\n", text)
        check_tree(dump, mount)


@test("2^64-1 inside a structure (a balloon's statistics) keeps its 20 digits")
def balloon():
    value = '{"stats":{"stat-free-memory":18446744073709551615,"stat-swap-in":18446744073709551615},"last-update":0}'
    dump = mounted_values({"guest-stats": value})
    with Mount(dump) as mount:
        equal(mount.read("qom", "o", "guest-stats"), value.encode() + b"\n", "the file")
        check(value.encode() in mount.read("qom", "o", ".tree.json"), "the JSON")


@test("the value decides, whatever the declared type says")
def lying_types():
    lies = [("uint64", "true"), ("uint32", "-1"), ("bool", "3"), ("bool", '"yes"'), ("str", "5"), ("int", "[1,2]"),
            ("string", "{}"), ("uint8", "18446744073709551615"), ("struct tm", '"x"'), ("", "1"), ("link<", '""'),
            ("child<", '"c"'), ("link<x>", "7"), ("link<x>", "true"), ("link<x>", "null"), ("link<x>", '["/o"]')]
    properties = [prop(f"p{i}", value, kind) for i, (kind, value) in enumerate(lies)]
    dump = write_file(obj("/", children=[obj("o", *properties)]) + "\n")
    with Mount(dump) as mount:
        for i, (kind, value) in enumerate(lies):
            path = mount.file("qom", "o", f"p{i}")
            check(os.path.isfile(path) and not os.path.islink(path), f"{kind} {value} is no regular file")
            equal(read_file(path), parse(value).file(), f"{kind} {value}")
            equal(os.getxattr(path, "user.qom.type"), kind.encode(), f"the type of {kind} {value}")
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON")


@test("a string is its raw text and a newline, whatever is in it")
def strings():
    dump = mounted_values(STRINGS)
    with Mount(dump) as mount:
        for name, text in STRINGS.items():
            equal(mount.read("qom", "o", name), json.loads(text).encode() + b"\n", name)
        check_tree(dump, mount)


@test("structures are one line of JSON, true, false and null are words")
def structures():
    values = {f"s{i}": text for i, text in enumerate(STRUCTURES)}
    dump = mounted_values(values)
    with Mount(dump) as mount:
        for name, text in values.items():
            equal(mount.read("qom", "o", name), text.encode() + b"\n", name)
        check_tree(dump, mount)


@tests_for((0, 1, 4094, 4095, 4096, 4097, 65535, 131071, 131072, 131073, 1048575, 1048576, 5000000),
           "a string of {} characters, in one read and in odd pieces")
def long_string(length):
    text = "".join(chr(97 + i % 23) for i in range(length))
    dump = mounted_values({"long": json.dumps(text), "structure": json.dumps([text])})
    with Mount(dump) as mount:
        for name, wanted in (("long", f"{text}\n"), ("structure", f'["{text}"]\n')):
            path = mount.file("qom", "o", name)
            equal(os.stat(path).st_size, len(wanted), "its size")
            check(read_file(path) == wanted.encode(), "differs in one read")
            descriptor = os.open(path, os.O_RDONLY)
            pieces = [os.pread(descriptor, 77777, at) for at in range(0, len(wanted) + 77777, 77777)]
            os.close(descriptor)
            check(b"".join(pieces) == wanted.encode(), "differs in pieces")
        check_tree(dump, mount)


@test("an object without anything, an object without type, a property of every kind in the root")
def empty():
    dump = write_file(obj("/", prop("a", "1", "int"), prop("l", '"/empty"', "link<x>"), children=[obj("empty")]) + "\n")
    with Mount(dump) as mount:
        equal(os.listdir(mount.file("qom", "empty")), [".tree.json"], "the empty object")
        equal(mount.read("qom", "empty", ".tree.json"), obj("empty").encode() + b"\n", "its JSON")
        check_tree(dump, mount)
    dump = write_file(obj("/") + "\n")
    with Mount(dump) as mount:
        equal(os.listdir(mount.file("qom")), [".tree.json"], "a tree of nothing")
        check_tree(dump, mount)


@test("unreadable properties spoil no others, and are listed with their types")
def unreadable():
    properties = [prop("a", "1", "int"), prop("b", None, "GuestPanicInformation"), prop("c", '"z"'),
                  prop("l", None, "link<x>")]
    dump = write_file(obj("/", children=[obj("o", *properties)]) + "\n")
    with Mount(dump) as mount:
        check_tree(dump, mount)
        result = run("sh", "-c", 'cat "$1"/a "$1"/b "$1"/c', "sh", mount.file("qom", "o"))
        equal((result.returncode, result.stdout), (1, b"1\nz\n"), "cat of good and bad ones")
        check(b"Input/output error" in result.stderr, f"cat says {result.stderr!r}")


@test("a dump that is not compact: pretty-printed, UTF-8, members in another order; the same tree")
def pretty():
    names = ["ü", "日本", "\U0001f600", "x"]
    properties = [{"type": "str", "name": name, "value": [1, {"ä": name}]} for name in names]
    properties += [{"value": name, "type": "str", "name": "s " + name} for name in names]
    tree = {"properties": properties, "children": [{"children": [], "properties": [], "name": "kind"}], "name": "/"}
    dump = write_file("\n" + json.dumps(tree, indent=3, ensure_ascii=False).replace("\n", "\r\n\t") + "\n\n")
    with Mount(dump) as mount:
        saved = mount.read("qom", ".tree.json")
        check(saved.isascii() and saved.endswith(b"}\n") and saved.count(b"\n") == 1, "it is not one line of ASCII")
        check(parse(saved.decode()).same(parse(read_file(dump).decode())), "the JSON differs")
        for name in names:
            path = os.path.join(os.fsencode(mount.file("qom")), file_name(name))
            check(parse(read_file(path).decode()).same(parse(json.dumps([1, {"ä": name}]))), f"the value of {name}")
            check(read_file(path).isascii(), "a structure is not ASCII")
            equal(mount.read("qom", "s " + name), name.encode() + b"\n", "a string")


@test("what else a dump says of a property (description, default) is kept")
def more_members():
    entry = '{"name":"p","type":"int","description":"what it is","default-value":5,"value":6}'
    dump = write_file('{"name":"/","children":[],"properties":[' + entry + "]}\n")
    with Mount(dump) as mount:
        equal(mount.read("qom", "p"), b"6\n", "the value")
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON")


main()
