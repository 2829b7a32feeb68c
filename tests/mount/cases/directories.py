#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""Directories that are large or deep, listed in pieces, from any place, and again."""

import ctypes
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, check, check_tree, equal, kind_of, main, obj, prop, read_file, run, test, write_file

MANY = 2000

libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
libc.telldir.argtypes = libc.readdir.argtypes = libc.rewinddir.argtypes = libc.closedir.argtypes = (ctypes.c_void_p,)
libc.seekdir.argtypes = (ctypes.c_void_p, ctypes.c_long)


class Dirent(ctypes.Structure):
    """struct dirent of 64-bit Linux."""

    _fields_ = [("ino", ctypes.c_uint64), ("offset", ctypes.c_int64), ("length", ctypes.c_uint16),
                ("kind", ctypes.c_uint8), ("name", ctypes.c_char * 256)]


class Directory:
    """A directory stream of the C library, which can be told and sought."""

    def __init__(self, path):
        self.stream = libc.opendir(os.fsencode(path))
        check(self.stream, f"opendir: {os.strerror(ctypes.get_errno())}")

    def next(self):
        found = libc.readdir(self.stream)
        return Dirent.from_address(found) if found else None

    def names(self, count=None):
        names = []
        while count is None or len(names) < count:
            entry = self.next()
            if entry is None:
                break
            check(entry.ino, f"{entry.name!r} has inode number 0")
            names.append(entry.name)
        return names

    def tell(self):
        return libc.telldir(self.stream)

    def seek(self, place):
        libc.seekdir(self.stream, place)

    def rewind(self):
        libc.rewinddir(self.stream)

    def close(self):
        libc.closedir(self.stream)


def many():
    """A dump with a directory of 2,000 children and one of 2,000 properties."""
    children = [obj(f"child{i}", kind_of("x"), prop("number", str(i), "int")) for i in range(MANY)]
    properties = [prop(f"property {i}", str(i), "int") for i in range(MANY)]
    return write_file(obj("/", children=[obj("children", children=children), obj("properties", *properties)]) + "\n")


WANTED = {
    "children": [b".", b"..", b".tree.json"] + [f"child{i}".encode() for i in range(MANY)],
    "properties": [b".", b"..", b".tree.json"] + [f"property {i}".encode() for i in range(MANY)],
}


@test("2,000 children and 2,000 properties: all there, all right")
def all_of_many():
    dump = many()
    with Mount(dump) as mount:
        result = check_tree(dump, mount)
        equal(result.counts["values"], 3 * MANY, "values compared")


@test("each name comes once, in the same order each time, and after rewinddir")
def once():
    with Mount(many()) as mount:
        for where, wanted in WANTED.items():
            directory = Directory(mount.file("qom", where))
            names = directory.names()
            equal(sorted(names), sorted(wanted), f"the names in {where}")
            directory.rewind()
            check(directory.names() == names, "another order after rewinddir")
            directory.close()
            again = Directory(mount.file("qom", where))
            check(again.names() == names, "another order in another opendir")
            again.close()
            declared = [name for name in names if not name.startswith(b".")]
            check(declared == wanted[3:], f"{where} are not listed in the order of the file")


@test("what telldir gave leads back to the same place, in any order")
def seek():
    with Mount(many()) as mount:
        for where in WANTED:
            directory = Directory(mount.file("qom", where))
            places, names = [], []
            while True:
                places.append(directory.tell())
                entry = directory.next()
                if entry is None:
                    break
                names.append(entry.name)
            equal(len(set(places)), len(places), "different places told")
            for index in [*range(0, len(names), 97), len(names) - 1, 1, 1000, 0, 500]:
                directory.seek(places[index])
                check(directory.names(30) == names[index : index + 30], f"other names after seekdir to {index}")
            directory.seek(places[-1])
            equal(directory.names(), [], "names after the end")
            directory.close()


@test("two streams of one directory, and lookups between their reads, do not disturb each other")
def two_streams():
    with Mount(many()) as mount:
        path = mount.file("qom", "children")
        first, second = Directory(path), Directory(path)
        left, right = [], []
        for i in range(0, MANY, 50):
            left += first.names(50)
            os.stat(os.path.join(path, f"child{i}"))
            right += second.names(70)
        left, right = left + first.names(), right + second.names()
        check(left == right and sorted(left) == sorted(WANTED["children"]), "the listings differ")
        first.close()
        second.close()


@test("small pieces: a listing in requests of a few names each")
def small_pieces():
    # getdents64 itself, with a buffer that holds two or three names
    number = {"x86_64": 217, "aarch64": 61}.get(os.uname().machine)
    if number is None:
        return
    with Mount(many()) as mount:
        for where, wanted in WANTED.items():
            descriptor = os.open(mount.file("qom", where), os.O_RDONLY | os.O_DIRECTORY)
            buffer, names, numbers = ctypes.create_string_buffer(100), [], {}
            while (got := libc.syscall(number, descriptor, buffer, len(buffer))) > 0:
                at = 0
                while at < got:
                    entry = Dirent.from_buffer_copy(buffer.raw[at:got].ljust(ctypes.sizeof(Dirent), b"\0"))
                    names.append(entry.name)
                    numbers[entry.name] = entry.ino
                    at += entry.length
            os.close(descriptor)
            equal(got, 0, "the last getdents64")
            equal(sorted(names), sorted(wanted), f"names in {where}")
            for name in wanted[2:]:
                status = os.lstat(os.path.join(os.fsencode(mount.file("qom", where)), name))
                equal(numbers[name], status.st_ino, f"d_ino of {name!r}, listed before anybody looked it up")


@test("ls, find and du of 2,000 entries")
def tools():
    with Mount(many()) as mount:
        path = mount.file("qom", "children")
        equal(run("ls", "-f", path).stdout.count(b"\n"), MANY + 3, "names of ls -f")
        equal(run("ls", "-U1", path).stdout.split(), WANTED["children"][3:], "ls -U1")
        equal(run("busybox", "ls", "-a1", path).stdout.count(b"\n"), MANY + 3, "names of busybox ls")
        equal(run("find", path, "-type", "f").stdout.count(b"\n"), 3 * MANY + 1, "files of find")
        equal(run("find", path, "-mindepth", "1", "-type", "d").stdout.count(b"\n"), MANY, "directories of find")


def chain(depth, name):
    """The text of a chain of objects, each the only child of the one above."""
    text = ""
    for level in range(depth, 0, -1):
        text = obj(f"{name}{level}", prop("level", str(level), "int"), children=[text] if text else [])
    return obj("/", children=[text])


@test("500 levels of objects")
def deep():
    dump = write_file(chain(500, "o") + "\n")
    with Mount(dump) as mount:
        result = check_tree(dump, mount)
        equal((result.counts["values"], result.counts["trees"]), (500, 501), "values and trees compared")


@test("paths far longer than PATH_MAX: reached from directory to directory; find, du and tar get through")
def longer_than_path_max():
    depth, name = 300, "a name of some forty bytes, so that paths grow "
    link = prop("down", '"' + "".join(f"/{name}{level}" for level in range(1, depth + 1)) + '"', "link<x>")
    text = chain(depth, name)
    dump = write_file(text[: text.rindex("]")] + link + "]}\n")
    with Mount(dump) as mount:
        equal(mount.read("qom", ".tree.json"), read_file(dump), "the JSON of all")
        descriptor = os.open(mount.file("qom"), os.O_RDONLY)
        for level in range(1, depth + 1):
            below = os.open(f"{name}{level}", os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
            with open("level", "rb", opener=lambda path, flags, d=descriptor: os.open(path, flags, dir_fd=d)) as file:
                equal(file.read(), f"{level}\n".encode(), f"level {level}")
        os.close(descriptor)
        found = run("find", ".", "-name", "level", cwd=mount.file("qom"))
        equal((found.returncode, found.stdout.count(b"/level\n")), (0, depth), "find")
        equal(run("du", "-s", ".", cwd=mount.file("qom")).returncode, 0, "du's status")
        # a link whose text is longer than the kernel takes can only fail, but nothing beside it may
        equal(run("ls", "-f", mount.file("qom")).stdout.split(b"\n")[:-1].__len__(), 5, "names in the root")


@test("an open directory stays usable, at its place, while thousands of names are looked up and dropped")
def caches():
    with Mount(many()) as mount:
        path = mount.file("qom", "children")
        directory = Directory(path)
        names = directory.names(1000)
        for i in range(MANY):
            check(read_file(os.path.join(path, f"child{i}", "number")) == f"{i}\n".encode(), f"child{i}")
        if os.geteuid() == 0:
            with open("/proc/sys/vm/drop_caches", "w") as file:
                file.write("2")
        names += directory.names()
        directory.close()
        equal(sorted(names), sorted(WANTED["children"]), "names")


@test("a working directory, and files opened before, outlive all caches")
def working_directory():
    with Mount(many()) as mount:
        script = 'cd "$1" && sleep 0.2 && cat number ../child8/number .tree.json'
        process = subprocess.Popen(["sh", "-c", script, "sh", mount.file("qom", "children", "child7")],
                                   stdout=subprocess.PIPE)
        if os.geteuid() == 0:
            with open("/proc/sys/vm/drop_caches", "w") as file:
                file.write("3")
        output = process.communicate()[0]
        tree = obj("child7", kind_of("x"), prop("number", "7", "int"))
        equal(output.decode(), f"7\n8\n{tree}\n", "what was read")


main()
