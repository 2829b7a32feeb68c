#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""A dump cannot be changed, by anybody, in any way."""

import errno
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, check, check_message, check_tree, equal, main, none, qomfs, read_file, recorded, root_dump
from lib import scratch, test, write_file

REFUSALS = {errno.EACCES, errno.EROFS, errno.EPERM}


@test("no file can be opened for writing, even by root: EACCES or EROFS")
def opening():
    with Mount(write_file(root_dump("qemu-11.1-q35-rich"))) as mount:
        problems, count = [], 0
        for where, _, files in os.walk(mount.path):
            for name in files[:8]:
                path = os.path.join(where, name)
                if not os.path.isfile(path) or os.path.islink(path):
                    continue
                for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDONLY | os.O_TRUNC):
                    count += 1
                    try:
                        os.close(os.open(path, flags))
                        problems.append(f"{path}: flags {flags:o}: it is open")
                    except OSError as error:
                        if error.errno not in (errno.EACCES, errno.EROFS):
                            problems.append(f"{path}: flags {flags:o}: {error.strerror}")
        check(count > 5000, f"only {count} attempts")
        none(problems, "opened for writing")


@test("nothing can be made, removed, renamed or marked")
def structure():
    dump = recorded("qemu-7.2-pc")
    with Mount(dump) as mount:
        folder, path = mount.file("qom", "machine"), mount.file("qom", "machine", "type")
        attempts = {
            "create": lambda: os.close(os.open(folder + "/new", os.O_CREAT | os.O_WRONLY)),
            "create in the root": lambda: os.close(os.open(mount.path + "/new", os.O_CREAT | os.O_WRONLY)),
            "mkdir": lambda: os.mkdir(folder + "/new"),
            "mknod": lambda: os.mknod(folder + "/new", stat.S_IFREG | 0o600),
            "symlink": lambda: os.symlink("x", folder + "/new"),
            "link": lambda: os.link(path, folder + "/new"),
            "unlink": lambda: os.unlink(path),
            "rmdir": lambda: os.rmdir(mount.file("qom", "objects")),
            "rename": lambda: os.rename(path, path + "2"),
            "rename of a directory": lambda: os.rename(folder, folder + "2"),
            "chmod": lambda: os.chmod(path, 0o777),
            "chown": lambda: os.chown(path, 1, 1),
            "utime": lambda: os.utime(path, (1, 1)),
            "truncate": lambda: os.truncate(path, 0),
            "truncate to more": lambda: os.truncate(path, 100000),
            "setxattr": lambda: os.setxattr(path, "user.mine", b"x"),
            "removexattr": lambda: os.removexattr(path, "user.qom.type"),
        }
        problems = []
        for name, attempt in attempts.items():
            try:
                attempt()
                problems.append(f"{name} succeeds")
            except OSError as error:
                if error.errno not in REFUSALS | {errno.EOPNOTSUPP}:
                    problems.append(f"{name}: {error}")
        none(problems, "changes")
        check_tree(dump, mount)
        check(mount.read("qom", ".tree.json") == read_file(dump), "the JSON has changed")


@test("-o rw and --share with a dump are wrong usage, and say so; the dump is not touched")
def asked_for():
    dump = write_file(read_file(recorded("qemu-7.2-pc")))
    for arguments in (("-o", "rw"), ("--rw",), ("--share",), ("-o", "share")):
        point = scratch("point")
        check_message(qomfs(dump, point, *arguments), arguments[-1].lstrip("-"), status=2)
        equal(os.listdir(point), [], "the mount point")
    check(read_file(dump) == read_file(recorded("qemu-7.2-pc")), "the dump has changed")


main()
