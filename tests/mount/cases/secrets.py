#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""The data of secret objects: EACCES for everybody, no value in any JSON, unless -o secrets asks for it."""

import errno
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, check, check_tree, equal, kind_of, main, obj, prop, read_file, run, test, write_file

DATA = "hunter2 is the pass phrase"


def dump():
    secret = obj("sec0", kind_of("secret"), prop("format", '"raw"'), prop("data", f'"{DATA}"'),
                 prop("loaded", "true", "bool"))
    keyring = obj("sec1", kind_of("secret_keyring"), prop("data", f'"{DATA}"'), prop("serial", "7", "int"))
    late = obj("sec2", prop("data", f'"{DATA}"'), kind_of("secret"))
    other = obj("file0", kind_of("memory-backend-file"), prop("data", '"public"'))
    objects = obj("objects", kind_of("container"), children=[secret, keyring, late, other])
    return write_file(obj("/", kind_of("container"), children=[objects]) + "\n")


@test("they are in no file, no JSON and no attribute")
def hidden():
    path = dump()
    with Mount(path) as mount:
        for name in ("sec0", "sec1", "sec2"):
            for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
                try:
                    os.close(os.open(mount.file("qom", "objects", name, "data"), flags))
                    check(False, f"{name}/data can be opened")
                except OSError as error:
                    check(error.errno in (errno.EACCES, errno.EROFS), f"{name}/data: {error}")
            try:
                mount.read("qom", "objects", name, "data")
            except OSError as error:
                equal(error.errno, errno.EACCES, "reading it")
        check_tree(path, mount)
        found = run("grep", "-rs", DATA, mount.path)
        equal((found.stdout, found.stderr), (b"", b""), "what grep finds")
        attributes = run("getfattr", "-Rd", "-m", "-", mount.file("qom", "objects"))
        check(DATA.encode() not in attributes.stdout, "an attribute shows it")
        equal(mount.read("qom", "objects", "file0", "data"), b"public\n", "the data of another type")
        equal(mount.read("qom", "objects", "sec0", "loaded"), b"true\n", "another property of a secret")


@test("what cp saved of the mount has no secret, and can be mounted")
def saved():
    with Mount(dump()) as mount:
        content = mount.read(".tree.json")
    check(DATA.encode() not in content, "it is there")
    with Mount(write_file(content)) as mount:
        check(DATA.encode() not in mount.read(".tree.json"), "it is there")


@test("-o secrets shows them")
def shown():
    path = dump()
    with Mount(path, options="secrets") as mount:
        equal(mount.read("qom", "objects", "sec0", "data"), f"{DATA}\n".encode(), "the file")
        equal(mount.read("qom", ".tree.json"), read_file(path), "the JSON")
        check_tree(path, mount, secrets=True)


main()
