#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 300
"""Dumps that are none: one line on standard error that says what is wrong and where, status 1, nothing left behind."""

import json
import os
import re
import stat
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import KIND, NOBODY, QOMFS, SLOW, check, check_message, check_nothing_left, copy_for_all, equal, kind_of, main
from lib import need_root, obj, open_to_all, prop, qomfs, read_file, recorded, root_dump, run, run_as_nobody, scratch
from lib import test, tests_for, write_file


# As a daemon, and in the foreground. What a sanitizer looks at is the same in both.
MODES = ((), ("-f",)) if KIND == "plain" else (("-f",),)


def refused(source, what="", arguments=()):
    """A source that must be refused with a message that names it, the same in each of MODES."""
    errors = []
    for mode in MODES:
        point = scratch("point")
        result = qomfs(*mode, *arguments, source, point)
        errors.append(check_message(result, what))
        check_nothing_left(point)
    equal(errors, errors[:1] * len(errors), "messages of the daemon and of the foreground")
    return errors[0]


def refused_at(content, place, name="bad.json"):
    """JSON that must be refused with a message that has its path and the place: LINE:COLUMN, or LINE where only the
    line is certain."""
    path = write_file(content, name)
    error = refused(path, os.path.basename(path))
    check(path in error, f"{path} is not in {error!r}")
    found = re.search(r"(\d+):(\d+)", error.replace(path, ""))
    check(found, f"no line and column in {error!r}")
    got = found.group(0) if ":" in place else found.group(1)
    equal(got, place, f"where it is, in {error!r}")
    return error


TYPE = kind_of("x")
GOOD = obj("/", TYPE, children=[obj("o", prop("p", "1"))])

# ---- not JSON ----

NOT_JSON = {
    "words": ("this is not JSON\n", "1:1"),
    "a lone brace": ("{", "1:2"),
    "a lone quote": ('"', "1"),
    "a closing bracket": ("}", "1:1"),
    "XML": ("<?xml version='1.0'?>\n<domain/>\n", "1:1"),
    "an ELF file": (b"\x7fELF\x02\x01\x01\0\0\0", "1:1"),
    "a NUL": (b"\0", "1:1"),
    "a NUL after the end": (GOOD.encode() + b"\0", f"1:{len(GOOD) + 1}"),
    "two values": (GOOD + "\n" + GOOD, "2:1"),
    "text after the end": (GOOD + "\n\n  x", "3:3"),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), "1:1"),
    "UTF-16": (GOOD.encode("utf-16"), "1:1"),
    "a comment": ("// a tree\n" + GOOD, "1:1"),
    "single quotes": ("{'name':'/','children':[],'properties':[]}", "1:2"),
    "a trailing comma": ('{"name":"/",\n"children":[],\n"properties":[],\n}', "4:1"),
    "a missing comma": ('{"name":"/"\n"children":[],"properties":[]}', "2:1"),
    "a missing colon": ('{"name" "/","children":[],"properties":[]}', "1:9"),
    "a name without quotes": ('{name:"/","children":[],"properties":[]}', "1:2"),
    "a bad word": (GOOD.replace(":1}", ":nul}"), "1"),
    "NaN": (GOOD.replace(":1}", ":NaN}"), "1"),
    "a number with a plus": (GOOD.replace(":1}", ":+1}"), "1"),
    "a number with a leading zero": (GOOD.replace(":1}", ":01}"), "1"),
    "a number that ends in a point": (GOOD.replace(":1}", ":1.}"), "1"),
    "a number without digits": (GOOD.replace(":1}", ":-}"), "1"),
    "a number in hex": (GOOD.replace(":1}", ":0x10}"), "1"),
    "a bad escape": (GOOD.replace(":1}", r':"\q"}'), "1"),
    "an escape of three digits": (GOOD.replace(":1}", r':"\u12"}'), "1"),
    "a newline in a string": (GOOD.replace(":1}", ':"a\nb"}'), "1"),
    "a control character in a string": (GOOD.replace(":1}", ':"a\x01b"}'), "1"),
    "half of a pair": (GOOD.replace(":1}", r':"\ud83d"}'), "1"),
    "halves in the wrong order": (GOOD.replace(":1}", r':"\ude00\ud83d"}'), "1"),
    "half of a pair in a name": (GOOD.replace('"p"', r'"\ud83dx"'), "1"),
}


@tests_for(NOT_JSON, "not JSON: {}")
def not_json(name):
    refused_at(*NOT_JSON[name])


BAD_UTF8 = {
    "a stray byte": b"\x80", "Latin-1": b"\xfc", "cut off": b"\xe6\x97", "overlong": b"\xc0\xaf",
    "overlong, three bytes": b"\xe0\x80\xaf", "a surrogate": b"\xed\xa0\x80", "beyond U+10FFFF": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80", "0xFF": b"\xff",
}


@tests_for(BAD_UTF8, "bad UTF-8: {}")
def bad_utf8(name):
    before, after = GOOD.encode().split(b':1}')
    refused_at(b"\n\n" + before + b':"a' + BAD_UTF8[name] + b'z"}' + after, "3")
    refused_at(GOOD.encode().replace(b'"o"', b'"' + BAD_UTF8[name] + b'"'), "1")


@test("lines and columns are counted in characters, over all kinds of lines")
def places():
    refused_at('{"name":"/",\n  "children":[],\n    "properties":[],,}', "3:21")
    refused_at('{"name":"日本語",,', "1:15")
    refused_at('{"name":"/",\r\n"children":[}', "2:13")
    refused_at("\n" * 999 + "x", "1000:1")
    refused_at(" " * 70000 + "x", "1:70001")


# ---- cut off ----


@test("cut off at any place")
def cut_off():
    some = obj("o", prop("p", r'"\u00fc\n"'), prop("n", "-1.5e3"), prop("t", "[true,{}]", "x"))
    compact = obj("/", TYPE, children=[some])
    for end in range(1, len(compact)):
        path = write_file(compact[:end])
        result = qomfs("-f", path, scratch("point"))
        check_message(result, path)


@test("a recorded tree, cut off at ten places: the message says at the end")
def cut_off_recorded():
    content = read_file(recorded("qemu-11.1-pc"))
    for i in range(1, 11):
        length = len(content) * i // 10 - 5
        error = refused_at(content[:length], "1")
        column = int(re.search(r"1:(\d+)", error.split("bad.json")[-1]).group(1))
        check(length - 60 < column <= length + 1, f"column {column} of {length}")


@test("an empty file, a file of white space")
def empty():
    path = write_file(b"")
    check("empty" in refused(path, path), "it does not say that it is empty")
    refused_at(b"\n\n  \n", "4:1")


# ---- the wrong shape ----

SHAPES = {
    "a number": "5",
    "a string": '"tree"',
    "null": "null",
    "a list": "[]",
    "a list of objects": f"[{GOOD}]",
    "children that is no list": '{"name":"/","children":{},"properties":[]}',
    "children that is null": '{"name":"/","children":null,"properties":[]}',
    "properties that is no list": '{"name":"/","children":[],"properties":"x"}',
    "a child that is a string": '{"name":"/","children":["o"],"properties":[]}',
    "a child that is a list": '{"name":"/","children":[[]],"properties":[]}',
    "a child without a name": '{"name":"/","children":[{"children":[],"properties":[]}],"properties":[]}',
    "a child whose name is a number": obj("/", children=[obj("o").replace('"o"', "5")]),
    "a child without children": '{"name":"/","children":[{"name":"o","properties":[]}],"properties":[]}',
    "a child without properties": '{"name":"/","children":[{"name":"o","children":[]}],"properties":[]}',
    "a property that is a string": '{"name":"/","children":[],"properties":["p"]}',
    "a property without a name": '{"name":"/","children":[],"properties":[{"type":"int","value":1}]}',
    "a property without a type": '{"name":"/","children":[],"properties":[{"name":"p","value":1}]}',
    "a property whose name is null": '{"name":"/","children":[],"properties":[{"name":null,"type":"int","value":1}]}',
    "a property whose type is a list": '{"name":"/","children":[],"properties":[{"name":"p","type":[],"value":1}]}',
    "a root without a name": '{"children":[],"properties":[]}',
    "a root dump whose qom is a list of objects": '{"qom":[{}]}',
    "a root dump whose qom is a list of numbers": '{"qom":[1]}',
    "a root dump whose qom is null": '{"qom":null}',
    "a root dump whose qom has a bad child": f'{{"qom":{obj("/", children=["7"])}}}',
    "a root dump whose blockstats is an object": f'{{"qom":{GOOD},"blockstats":{{}}}}',
    "a root dump whose blockstats holds a number": f'{{"qom":{GOOD},"blockstats":[7]}}',
    "a root dump whose cpu-definitions holds a list": f'{{"qom":{GOOD},"cpu-definitions":[[]]}}',
    "a root dump whose cpu-definitions is a string": f'{{"qom":{GOOD},"cpu-definitions":""}}',
    "a root dump whose vm is a number": f'{{"qom":{GOOD},"vm":5}}',
}


@tests_for(SHAPES, "wrong shape: {}")
def wrong_shape(name):
    refused_at("\n" + SHAPES[name], "2")


@test("wrong shape: the message says where, deep inside a large dump")
def wrong_shape_inside():
    lines = json.dumps(json.loads(read_file(recorded("qemu-7.2-pc"))), indent=1).split("\n")
    for pattern, replacement in (('"children": [', '"children": "x", "c": ['), ('"name":', '"name": 7, "n":'),
                                 ('"type":', '"t":')):
        numbers = [i for i, line in enumerate(lines) if pattern in line]
        number = numbers[len(numbers) // 2]
        broken = list(lines)
        broken[number] = broken[number].replace(pattern, replacement)
        path = write_file("\n".join(broken))
        error = refused(path, path)
        line = int(re.search(r"(\d+):\d+", error.replace(path, "")).group(1))
        # a property or child that lacks something may be refused at its begin or end
        check(abs(line - (number + 1)) <= 6, f"the fault is in line {number + 1}; {error!r}")


@test("a dump of something else: an object without children and properties is no dump, and no configuration")
def other_objects():
    for text in ('{"execute":"qom-list"}', '{"return":{}}', '{"children":[]}', '{"":1}'):
        path = write_file(text)
        refused(path, path)


# ---- repeated names ----

REPEATED = {
    "two members of an object": '{"name":"/",\n"name":"/","children":[],"properties":[]}',
    "two members, one with an escape": '{"name":"/",\n"n\\u0061me":"/","children":[],"properties":[]}',
    "two members in a value": obj("/", prop("p", '{"a":1,"b":2,\n"a":3}')),
    "two members deep in a value": obj("/", prop("p", '[[{"x":{"a":1,\n"a":3}}]]')),
    "two members of a property": obj("/", '{"name":"p","type":"t",\n"type":"t","value":1}'),
    "two properties": obj("/", prop("p", "1"), "\n" + prop("p", "1")),
    "two properties far apart": obj("/", *(prop(f"q{i}", "1") for i in range(3000)), "\n" + prop("q1", "1")),
    "two properties, one with an escape": obj("/", prop("p", "1"), "\n" + prop("p", "1").replace('"p"', r'"\u0070"')),
    "two children": obj("/", children=[obj("c"), "\n" + obj("c")]),
    "two children far apart": obj("/", children=[*(obj(f"d{i}") for i in range(3000)), "\n" + obj("d1")]),
    "two views": f'{{"qom":{GOOD},"blockstats":[],\n"blockstats":[]}}',
}


@tests_for(REPEATED, "repeated: {}")
def repeated(name):
    error = refused_at(REPEATED[name], "2")
    check(re.search(r"repeat|twice|duplicate|again|second", error), f"that it is repeated is not said: {error!r}")


@test("repeated: a child and a property of one name")
def child_and_property():
    path = write_file(obj("/", prop("x", "1"), children=[obj("x")]))
    refused(path, path)


@test("many repeated and many distinct members cost no more than time in proportion")
def many_members():
    members = ",".join(f'"m{i}":{i}' for i in range(200000))
    start = time.monotonic()
    refused_at(obj("/", prop("p", "{" + members + ',\n"m77777":1}')), "2")
    check(time.monotonic() - start < 10 * SLOW, "it takes too long")


# ---- too deep, too much ----


@tests_for((1025, 2000, 100000, 5000000), "depth {}: lists in a value, objects in a value, and without an end")
def too_deep(depth):
    lists, objects = "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth
    for text in (obj("/", prop("p", lists)), obj("/", prop("p", objects)), "[" * depth, '{"qom":' * depth):
        path = write_file(text)
        error = refused(path, path)
        check(re.search(r"1024|nest|deep|depth", error) or not text.endswith("}"), f"depth is not said: {error!r}")


@test("depth 2,000: objects below objects")
def too_deep_objects():
    text = obj("bottom")
    for level in range(2000):
        text = f'{{"name":"o{level}","children":[{text}],"properties":[]}}'
    path = write_file(text)
    refused(path, path)


@test("a gigabyte of nothing, and more: refused at once, with little memory")
def gigabyte():
    for size in (1 << 30, (1 << 30) - 1, (1 << 30) + 1, 5 << 30, 1 << 42):
        path = write_file(b"")
        try:
            os.truncate(path, size)
        except OSError:  # more than this file system takes
            continue
        # sanitizers reserve more address space than there is memory
        limit = "ulimit -v 200000;" if KIND == "plain" else ""
        start = time.monotonic()
        result = run("sh", "-c", limit + ' exec "$1" -f "$2" "$3"', "sh", QOMFS, path, scratch("point"))
        check_message(result, path)
        check(time.monotonic() - start < 2 * SLOW, f"{time.monotonic() - start:.1f} s for {size} bytes")
        os.unlink(path)


@test("a dump that is longer than the limit of 1 GiB is refused before it is read")
def too_long():
    path = write_file(GOOD)
    os.truncate(path, (1 << 30) + 1)
    error = refused(path, path)
    check(re.search(r"large|long|limit|GiB|1073741824|exceed|big", error), f"the limit is not said: {error!r}")


# ---- no file at all ----


@test("a directory")
def directory():
    path = scratch("tree.json")
    error = refused(path, path)
    check("irectory" in error, f"it does not say why: {error!r}")


@test("a FIFO that nobody writes to, a character device that never ends, a file of /proc")
def special_files():
    fifo = os.path.join(scratch(), "fifo.json")
    os.mkfifo(fifo)
    refused(fifo, fifo)
    check(stat.S_ISFIFO(os.stat(fifo).st_mode), "the FIFO is gone")
    for path in ("/dev/zero", "/dev/null", "/dev/tty", "/proc/self/mem", "/proc/self/status"):
        refused(path, path)


@test("a file that is not there, a link to nowhere, a link to itself, a name that is too long, a path through a file")
def missing():
    folder = scratch()
    os.symlink("nowhere", os.path.join(folder, "dangling.json"))
    os.symlink("loop.json", os.path.join(folder, "loop.json"))
    for name in ("missing.json", "dangling.json", "loop.json", "missing/dump.json"):
        error = refused(os.path.join(folder, name), name)
        check(re.search(r"[Nn]o such|not exist|[Tt]oo many", error), f"it does not say why: {error!r}")
    refused(os.path.join(folder, "n" * 300), "nnn")
    path = write_file(GOOD)
    refused(path + "/x", path + "/x")


@test("no permission to read it")
def no_permission():
    need_root()
    path = write_file(GOOD)
    folder = scratch("point")
    open_to_all(os.path.dirname(path), folder)
    os.chmod(path, 0)
    os.chown(folder, NOBODY, NOBODY)
    result = run_as_nobody(copy_for_all(QOMFS), path, folder)
    error = check_message(result, path)
    check("ermission denied" in error, f"it does not say why: {error!r}")
    check_nothing_left(folder)


# ---- what reaches the terminal ----


@test("control characters of a dump, and of its name, do not reach the terminal")
def control_characters():
    nasty = r"\u001b[31mred\u0007\u0000\r\n\u009b2J\u007f\u202e\u2028"
    for text in (obj("/", prop("p", "1").replace('"p"', f'"{nasty}"'), prop("p", "1").replace('"p"', f'"{nasty}"')),
                 obj("/", children=[obj("c").replace('"c"', f'"{nasty}"')] * 2),
                 obj("/", prop("p", f'{{"{nasty}":1,"{nasty}":2}}')),
                 f'{{"qom":{GOOD},"{nasty}":[],"{nasty}":[]}}',
                 f'{{"{nasty}":1}}',
                 '{"name":"/","children":[],"properties":[\x1b[31m]}'):
        path = write_file(text)
        refused(path, path)
    path = write_file("\x1b[31m nothing", "red\x1b[31m\n\x07\u009b\u202e.json")
    refused(path, ".json")
    refused(os.path.join(scratch(), "missing\x1b[31m\n.json"), "missing")
    odd = os.fsencode(scratch()) + b"/not-utf8-\xff\xfe.json"
    refused(odd, "not-utf8-")


@test("names as long as the dump allows do not make messages long")
def long_names():
    name = "n" * 100000
    refused_at(obj("/", prop(name, "1"), "\n" + prop(name, "1")), "2")
    refused_at(obj("/", prop("p", f'{{"{name}":1,\n"{name}":1}}')), "2")
    refused_at(GOOD.replace(":1}", ":" + name + "}"), "1")


@test("a root dump that is good but for its last byte")
def nearly():
    text = root_dump("qemu-11.1-q35-rich").strip()
    refused_at(text[:-1], f"1:{len(text)}")
    refused_at(text + "}", f"1:{len(text) + 1}")


main()
